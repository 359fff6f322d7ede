"""The cast of the samples: all invented, with phone numbers and mail addresses nobody can own."""

from docmill.demo.plan import House, account, vat

ANYBODY = House("", (), "")  # who buys at a till
ZWIRN = House(
    "Zwirn & Zwille Bürobedarf GmbH",
    ("Lindenallee 14", "20999 Hamburg"),
    "DE",
    vat("DE", "DE28137465?"),
    account("DE??900100420532013000"),
    "FANTDEH1XXX",
    "Fantasia Bank Hamburg",
    "+49 40 555 0142",
    "post@zwirn-zwille.example",
    "Amtsgericht Hamburg HRB 990142 | Geschäftsführerin: Dr. Änne Zwille",
    (0.05, 0.32, 0.42),
    "bars",
)
WOLKE = House(
    "Wolkenkuck Maschinenbau AG",
    ("Ringstraße 88", "70999 Stuttgart"),
    "DE",
    vat("DE", "DE81122339?"),
    account("DE??900200600012345678"),
    "FANTDES1XXX",
    "Fantasia Bank Stuttgart",
    "+49 711 555 0177",
    "einkauf@wolkenkuck.example",
    "Vorstand: Jörg Übelacker | HRB 990771 Stuttgart",
    (0.55, 0.12, 0.14),
    "peak",
)
SCHRAUBE = House(
    "Federleicht Befestigungstechnik GmbH & Co. KG",
    ("Gewerbepark Süd 3", "90999 Nürnberg"),
    "DE",
    vat("DE", "DE29440017?"),
    account("DE??900300760055443322"),
    "FANTDEN1XXX",
    "Fantasia Bank Nürnberg",
    "+49 911 555 0133",
    "verkauf@federleicht.example",
    "HRA 990133 Nürnberg",
    (0.1, 0.36, 0.2),
    "frame",
)
PHANTA = House(
    "Phanta Stadtwerke Nebelheim GmbH",
    ("Am Kraftwerk 1", "99998 Nebelheim"),
    "DE",
    vat("DE", "DE30188042?"),
    account("DE??900400820000700100"),
    "FANTDEE1XXX",
    "Fantasia Bank Nebelheim",
    "0800 555 0100",
    "service@phanta-stadtwerke.example",
    "Sitz der Gesellschaft: Nebelheim | HRB 990100",
    (0.0, 0.42, 0.6),
    "wave",
)
PINSEL = House(
    "Malermeister Ottokar Pinselrein",
    ("Hinterhof 7", "50999 Köln"),
    "DE",
    vat("DE", "DE15922648?"),
    account("DE??900500370019283746"),
    "FANTDEK1XXX",
    "Fantasia Bank Köln",
    "0221 555 0186",
    "pinselrein@maler.example",
    "Steuernummer 219/5999/0186",
    (0.72, 0.4, 0.05),
    "disc",
)
FAMILIE = House("Annegret Müßig", ("Rosenweg 12", "99998 Nebelheim"), "DE")
KREATIV = House(
    "Gipfelstürmer Werbeagentur GmbH",
    ("Bergisel 5/2", "6099 Innsbruck"),
    "AT",
    vat("AT", "ATU6128374?"),
    account("AT??9900000234573201"),
    "FANTAT22XXX",
    "Alpenfantasia Bank",
    "+43 512 555 044",
    "buero@gipfelstuermer.example",
    "FN 999044x LG Innsbruck",
    (0.36, 0.16, 0.5),
    "peak",
)
ALPENROSE = House(
    "Taxi Edelweissli GmbH",
    ("Seestrasse 210", "8099 Zürich"),
    "CH",
    vat("CH", "CHE10728439?MWST"),
    phone="044 555 02 10",
)
QUIBBLE = House(
    "Quibble & Thimble Interiors Ltd",
    ("Unit 4, Gasworks Yard", "12 Canal Street", "Bristol BS99 4QT"),
    "GB",
    vat("GB", "GB9134025??"),
    account("GB??NOWH60161331926819"),
    "NOWHGB2LXXX",
    "Umbra & Nonesuch Bank plc",
    "0117 496 0144",
    "accounts@quibblethimble.example",
    "Registered in England No. 09990144",
    (0.13, 0.2, 0.38),
    "bars",
)
MARMALADE = House(
    "Marmalade Moon Hotels Ltd",
    ("The Old Observatory", "Star Hill", "Bath BA99 1MM"),
    "GB",
    vat("GB", "GB7290186??"),
    account("GB??NOWH60161399001122"),
    "NOWHGB2LXXX",
    phone="01632 960188",
    mail="ap@marmalademoon.example",
)
BADGER = House(
    "BADGER'S NUTS & BOLTS",
    ("71 Pudding Lane", "York YO99 7BB"),
    "GB",
    vat("GB", "GB8845071??"),
    phone="01632 960171",
)
FJORDLY = House(
    "Fjordly Freight & Fable, Inc.",
    ("4800 Imaginary Pkwy, Suite 210", "Portland, OR 97299"),
    "US",
    phone="(503) 555-0148",
    mail="billing@fjordlyfreight.example",
    colour=(0.75, 0.25, 0.1),
    logo="wave",
)
TUMBLE = House(
    "Tumbleweed Robotics LLC",
    ("901 Mirage Blvd", "Reno, NV 89599"),
    "US",
    phone="(775) 555-0190",
    mail="purchasing@tumbleweedrobotics.example",
    colour=(0.2, 0.3, 0.34),
    logo="frame",
)
COPPER = House(
    "Copper Kettle Fictional Supply Co.",
    ("2200 Nowhere Ave", "Dayton, OH 45499"),
    "US",
    phone="(937) 555-0122",
    mail="orders@copperkettle.example",
    colour=(0.6, 0.3, 0.12),
    logo="disc",
)
PELICAN = House(
    "The Plaid Pelican Bar & Grill",
    ("15 Dockside Walk", "Savannah, GA 31499"),
    "US",
    phone="(912) 555-0115",
    colour=(0.1, 0.35, 0.3),
    logo="wave",
)
CROUTE = House(
    "Maison Croûte-Lune SARL",
    ("18, rue des Étoiles", "69999 Lyon"),
    "FR",
    vat("FR", "FR??83145296?"),
    account("FR??99999010050500013M02606"),
    "FANTFRPPXXX",
    "Crédit Imaginaire du Rhône",
    "04 99 55 01 18",
    "compta@croute-lune.example",
    "SARL au capital de 12 000 € - RCS Lyon 831 452 966",
    (0.5, 0.1, 0.25),
    "leaf",
)
HORIZON = House(
    "Hôtel de l'Horizon Perdu SAS",
    ("3, quai des Brumes", "33999 Bordeaux"),
    "FR",
    vat("FR", "FR??51238470?"),
    account("FR??99999020050600024N03717"),
    "FANTFRPPXXX",
    phone="05 99 55 01 03",
    mail="economat@horizon-perdu.example",
    colour=(0.1, 0.25, 0.45),
    logo="wave",
)
CAFE = House(
    "CAFÉ DU HÉRISSON",
    ("7, place de l'Échelle", "44999 Nantes"),
    "FR",
    vat("FR", "FR??79021534?"),
    phone="02 99 55 01 07",
    colour=(0.35, 0.2, 0.1),
    logo="leaf",
)
TORNILLO = House(
    "Suministros Ñandú Fantástico, S.L.",
    ("Calle del Espejismo, 27", "28999 Madrid"),
    "ES",
    vat("ES", "ESB8312047?"),
    account("ES??99990418850200051332"),
    "FANTESMMXXX",
    "Banco Quimera",
    "+34 910 555 027",
    "ventas@nandu.example",
    "Reg. Merc. de Madrid, tomo 99901, folio 27",
    (0.78, 0.33, 0.0),
    "peak",
)
CIGUENA = House(
    "Bodegas Cigüeña Azul, S.A.",
    ("Camino de los Sueños, s/n", "26999 Logroño"),
    "ES",
    vat("ES", "ESA2609153?"),
    account("ES??99990455310300062443"),
    "FANTESMMXXX",
    phone="+34 941 555 062",
    mail="compras@ciguena-azul.example",
    colour=(0.1, 0.3, 0.6),
    logo="leaf",
)
SARDINA = House(
    "BAR LA SARDINA SOÑADORA",
    ("Plaza del Árbol, 5", "29999 Málaga"),
    "ES",
    vat("ES", "ESB9201846?"),
    phone="952 555 005",
)
LUNARE = House(
    "Officine Lunari Immaginarie S.r.l.",
    ("Via delle Comete, 42", "40199 Bologna BO"),
    "IT",
    vat("IT", "IT0482193076?"),
    account("IT??X9999902400000000123456"),
    "FANTITMMXXX",
    "Banca Miraggio",
    "+39 051 555 0142",
    "info@officinelunari.example",
    "REA BO-999042 | Cap. soc. 20.000,00 i.v.",
    (0.0, 0.4, 0.32),
    "disc",
)
GELATO = House(
    "GELATERIA NUVOLA ROSA", ("Piazza del Sogno, 3", "50199 Firenze FI"), "IT", vat("IT", "IT0517284063?")
)
TULP = House(
    "De Zwevende Tulp B.V.",
    ("Wolkengracht 101", "1099 ZZ Amsterdam"),
    "NL",
    vat("NL", "NL85362147?B01"),
    account("NL??FANT0417164300"),
    "FANTNL2AXXX",
    phone="020 555 0101",
    mail="administratie@zwevendetulp.example",
    legal="KvK 99900101",
    colour=(0.8, 0.1, 0.4),
    logo="leaf",
)
VANDAAG = House(
    "Studio Lotte van Vandaag",
    ("Molenpad 9", "3599 AB Utrecht"),
    "NL",
    vat("NL", "NL00291837?B42"),
    account("NL??FANT0300065264"),
    "FANTNL2AXXX",
    phone="+31 30 555 0109",
    mail="hello@lottevandaag.example",
)
FANTASIA = House(
    "Fantasia Bank eG",
    ("Münzgasse 1", "70999 Stuttgart"),
    "DE",
    bic="FANTDES1XXX",
    phone="0711 555 0001",
    colour=(0.0, 0.3, 0.55),
    logo="frame",
)
UMBRA = House(
    "Umbra & Nonesuch Bank plc",
    ("1 Threadbare Street", "London EC99 1UN"),
    "GB",
    bic="NOWHGB2LXXX",
    phone="0800 555 0111",
    colour=(0.35, 0.1, 0.35),
    logo="wave",
)
IMAGINAIRE = House(
    "Crédit Imaginaire du Rhône",
    ("40, cours des Mirages", "69999 Lyon"),
    "FR",
    bic="FANTFRPPXXX",
    phone="09 99 55 00 40",
    colour=(0.0, 0.45, 0.35),
    logo="leaf",
)
QUIMERA = House(
    "Banco Quimera, S.A.",
    ("Paseo de la Ilusión, 100", "28999 Madrid"),
    "ES",
    bic="FANTESMMXXX",
    phone="910 555 100",
    colour=(0.65, 0.05, 0.1),
    logo="bars",
)
ANDORINHA = House(
    "Andorinha de Papel, Lda.",
    ("Rua das Nuvens, 27", "1999-305 Lisboa"),
    "PT",
    vat("PT", "PT50199031?"),
    account("PT??000700000012345678901"),
    "FANTPTPLXXX",
    phone="210 555 027",
    mail="faturacao@andorinhadepapel.example",
    colour=(0.05, 0.35, 0.3),
    logo="wave",
)
SARDINHA = House(
    "Conservas Sardinha Azul, S.A.",
    ("Avenida do Cais, 4", "8999-102 Portimão"),
    "PT",
    vat("PT", "PT50277140?"),
)
BOCIAN = House(
    "Bocian i Wnuki Sp. z o.o.",
    ("ul. Bociania 8", "00-999 Warszawa"),
    "PL",
    vat("PL", "PL525099081?"),
    account("PL??109010140000071219812874"),
    "FANTPLPWXXX",
    phone="22 555 01 08",
    mail="faktury@bocianiwnuki.example",
    colour=(0.6, 0.1, 0.1),
    logo="leaf",
)
JANTAR = House(
    "Hotel Jantarowy Sp. z o.o.",
    ("al. Morska 15", "80-999 Gdansk"),
    "PL",
    vat("PL", "PL583011472?"),
)
NORRSKEN = House(
    "Norrskenets Glasbruk AB",
    ("Drömgatan 12", "113 99 Stockholm"),
    "SE",
    vat("SE", "SE55609901??01"),
    account("SE??90000000054910000003"),
    "FANTSESSXXX",
    phone="08-555 012 00",
    mail="faktura@norrskenetsglas.example",
    legal="Godkänd för F-skatt | Styrelsens säte: Stockholm",
    colour=(0.05, 0.25, 0.5),
    logo="peak",
)
LINGON = House(
    "Lingonbergets Konditori AB",
    ("Sagovägen 3", "903 99 Umeå"),
    "SE",
    vat("SE", "SE55602288??01"),
)
HAVFRUE = House(
    "Havfruens Møbelværksted ApS",
    ("Eventyrvej 41", "2999 København"),
    "DK",
    vat("DK", "DK1099314?"),
    account("DK??00400440116243"),
    "FANTDKKKXXX",
    phone="33 55 50 41",
    mail="bogholderi@havfruen.example",
    legal="Ved for sen betaling beregnes et rykkergebyr på 100 kr.",
    colour=(0.1, 0.4, 0.45),
    logo="bars",
)
TROLDE = House(
    "Troldehøj Kro A/S",
    ("Mosevej 9", "8999 Aarhus"),
    "DK",
    vat("DK", "DK2077145?"),
)
