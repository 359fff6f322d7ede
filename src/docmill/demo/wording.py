"""Wording of dates, numbers and labels in each country."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from babel.dates import format_date

LANGUAGES: tuple[str, ...] = ("en", "de", "fr", "es", "it", "nl", "pt", "pl", "sv", "da")
DASH = "\u2013"
_HARD_SPACE = "\u00a0"

# Polish is printed without accents, as by many a till: the base fonts of PDF have none of them.
# One row per label, one column per language of LANGUAGES; "/" parts wordings that are used in turn.
_LABELS = """
invoice         | Invoice | Rechnung | Facture | Factura | Fattura | Factuur | Fatura | Faktura VAT | Faktura | Faktura
credit          | Credit Note | Gutschrift | Avoir | Factura rectificativa | Nota di credito | Creditnota | Nota de crédito | Faktura korygujaca | Kreditfaktura | Kreditnota
purchase_order  | Purchase Order | Bestellung | Bon de commande | Pedido | Ordine d'acquisto | Inkooporder | Nota de encomenda | Zamowienie | Inköpsorder | Indkøbsordre
delivery_note   | Delivery Note/Packing Slip | Lieferschein | Bon de livraison | Albarán | Documento di trasporto | Pakbon | Guia de remessa | Dokument WZ | Följesedel | Følgeseddel
quote           | Quotation | Angebot | Devis | Presupuesto | Preventivo | Offerte | Orçamento | Oferta cenowa | Offert | Tilbud
quote.number    | Quotation No. | Angebots-Nr. | Devis n° | Presupuesto nº | Preventivo n. | Offertenummer | Orçamento n.º | Oferta nr | Offertnr | Tilbud nr.
valid_until     | Valid until | Gültig bis | Valable jusqu'au | Válido hasta | Valido fino al | Geldig tot | Válido até | Wazna do | Giltig till | Gyldig til
bank_statement  | Statement of Account | Kontoauszug | Relevé de compte | Extracto de cuenta | Estratto conto | Rekeningafschrift | Extrato de conta | Wyciag z rachunku | Kontoutdrag | Kontoudtog
invoice.number  | Invoice No./Invoice Number/Invoice # | Rechnungsnummer/Rechnungs-Nr./Rechnung Nr. | N° de facture/Facture n° | Nº de factura/Factura nº | Fattura n. | Factuurnummer | Fatura n.º | Faktura VAT nr | Fakturanummer | Faktura nr.
credit.number   | Credit Note No. | Gutschrift Nr. | Avoir n° | Factura rectificativa nº | Nota di credito n. | Creditnota nr. | Nota de crédito n.º | Korekta nr | Kreditfaktura nr | Kreditnota nr.
receipt.number  | Receipt/Trans # | Bon-Nr./Beleg | Ticket n° | Factura simpl. nº | Documento n. | Bonnr. | Fatura simplificada n.º | Nr paragonu | Kvittonr | Bon nr.
purchase_order.number | PO Number/Order No. | Bestellnummer/Bestell-Nr. | Commande n° | Pedido nº | Ordine n. | Ordernummer | Encomenda n.º | Zamowienie nr | Ordernummer | Ordrenr.
delivery_note.number  | Delivery Note No./Slip No. | Lieferschein-Nr. | Bon de livraison n° | Albarán nº | DDT n. | Pakbonnummer | Guia de remessa n.º | WZ nr | Följesedelsnr | Følgeseddel nr.
issue_date      | Date/Invoice Date/Issued | Datum/Rechnungsdatum/Belegdatum | Date/Date d'émission | Fecha/Fecha de expedición | Data | Datum/Factuurdatum | Data de emissão | Data wystawienia | Fakturadatum | Fakturadato
day             | Date | Datum | Date | Fecha | Data | Datum | Data | Data | Datum | Dato
delivery_date   | Delivery Date | Lieferdatum/Leistungsdatum | Date de livraison | Fecha de entrega | Data di consegna | Leverdatum | Data de entrega | Data sprzedazy | Leveransdatum | Leveringsdato
due_date        | Due Date/Payment Due | Fällig am/Zahlbar bis | Échéance/Date d'échéance | Vencimiento | Scadenza | Vervaldatum | Data de vencimento | Termin platnosci | Förfallodatum | Forfaldsdato
period          | Billing Period | Leistungszeitraum/Abrechnungszeitraum | Période | Periodo de facturación | Periodo | Periode | Período de faturação | Okres rozliczeniowy | Fakturaperiod | Fakturaperiode
customer_number | Customer No./Account No. | Kundennummer/Kunden-Nr. | N° client | Nº de cliente | Codice cliente | Klantnummer | N.º de cliente | Nr klienta | Kundnummer | Kundenr.
order_number    | Your Order/PO Number | Bestellnummer/Ihre Bestellung | Votre commande/Commande n° | Su pedido/Nº de pedido | Vs. ordine | Uw order | V/ encomenda n.º | Nr zamowienia | Ert ordernummer | Deres ordrenr.
delivery_note_number | Delivery Note | Lieferschein/Lieferschein-Nr. | Bon de livraison | Albarán nº | DDT | Pakbon | Guia de remessa n.º | WZ nr | Följesedel nr | Følgeseddel nr.
contract_number | Contract No. | Vertragsnummer | N° de contrat | Nº de contrato | Contratto n. | Contractnummer | Contrato n.º | Umowa nr | Avtalsnummer | Aftalenr.
preceding_invoice_number | Original Invoice | Zu Rechnung Nr. | Facture d'origine n° | Factura rectificada | Fattura di riferimento | Oorspronkelijke factuur | Fatura original | Do faktury nr | Avser faktura | Vedrører faktura
payslip         | Payslip | Gehaltsabrechnung | Bulletin de paie | Nómina | Busta paga | Loonstrook | Recibo de vencimento | Pasek wynagrodzen | Lönespecifikation | Lønseddel
employer        | Employer | Arbeitgeber | Employeur | Empresa | Azienda | Werkgever | Entidade patronal | Pracodawca | Arbetsgivare | Arbejdsgiver
employee        | Employee | Mitarbeiter | Salarié | Trabajador | Dipendente | Werknemer | Trabalhador | Pracownik | Anställd | Medarbejder
employee_number | Employee No. | Personalnummer | Matricule | Nº de empleado | Matricola | Personeelsnummer | N.º de funcionário | Nr pracownika | Anställningsnummer | Medarbejdernummer
pay_period      | Pay Period | Abrechnungszeitraum | Période de paie | Periodo de liquidación | Periodo di paga | Loonperiode | Período | Okres | Löneperiod | Lønperiode
payment_date    | Payment Date | Auszahlungsdatum | Date de paiement | Fecha de pago | Data di pagamento | Betaaldatum | Data de pagamento | Data wyplaty | Utbetalningsdag | Udbetalingsdato
basic_pay       | Basic salary | Grundgehalt | Salaire de base | Salario base | Paga base | Basissalaris | Vencimento base | Placa zasadnicza | Månadslön | Månedsløn
bonus           | Bonus | Zulage | Prime | Plus convenio | Premio | Toeslag | Subsídio | Premia | Tillägg | Tillæg
pension         | Pension | Betriebliche Altersvorsorge | Mutuelle | Formación profesional | Fondo pensione | Pensioenpremie | Seguro | PPK | Pensionsavsättning | Pension
gross_pay       | Gross Pay | Gesamtbrutto | Salaire brut | Total devengado | Totale competenze | Brutoloon | Total de abonos | Wynagrodzenie brutto | Bruttolön | Bruttoløn
income_tax      | Income Tax | Lohnsteuer | Prélèvement à la source | IRPF | IRPEF | Loonheffing | IRS | Zaliczka na podatek | Preliminär skatt | A-skat
social_contributions | National Insurance | Sozialversicherung | Cotisations sociales | Seguridad Social | Contributi INPS | Sociale premies | Segurança Social | Skladki ZUS | Sociala avgifter | AM-bidrag
total_deductions | Total Deductions | Gesamtabzüge | Total des retenues | Total a deducir | Totale trattenute | Totaal inhoudingen | Total de descontos | Razem potracenia | Summa avdrag | Fradrag i alt
pay_note        | Please keep this paper with your documents. | Bitte bewahren Sie diese Abrechnung bei Ihren Unterlagen auf. | Conservez ce document avec vos papiers. | Conserve este documento con sus papeles. | Conservare questo documento con le proprie carte. | Bewaar dit document bij uw papieren. | Guarde este documento com os seus papéis. | Prosze zachowac ten dokument. | Spara det här beskedet, det är ditt bevis på lön och skatt. | Gem dette papir, det er din dokumentation for løn og skat.
net_pay         | Net Pay | Auszahlungsbetrag | Net à payer | Líquido a percibir | Netto in busta | Nettoloon | Líquido a receber | Do wyplaty | Nettolön | Til udbetaling
vat_id          | VAT No./VAT Reg. No. | USt-IdNr. | N° TVA | NIF | P. IVA | Btw-nr. | NIF | NIP | Momsreg.nr | CVR-nr.
seller          | Supplier/Vendor | Lieferant | Fournisseur | Proveedor | Fornitore | Leverancier | Fornecedor | Sprzedawca | Säljare | Sælger
buyer           | Bill To/Invoice To | Kunde | Client/Facturé à | Cliente/Facturar a | Spett.le | Klant | Cliente | Nabywca | Kund | Kunde
ship            | Ship To/Deliver To | Lieferanschrift | Livré à | Entregar en | Destinazione | Afleveradres | Local de entrega | Adres dostawy | Leveransadress | Leveringsadresse
position        | #/Item | Pos. | N°/Réf. | Nº/Pos. | N. | # | # | Lp. | Rad | Linje
article         | Item No. | Art.-Nr. | Réf. | Ref. | Codice | Art.nr. | Código | Indeks | Art.nr | Varenr.
description     | Description/Item Description | Bezeichnung/Beschreibung | Désignation/Description | Concepto/Descripción | Descrizione | Omschrijving | Descrição | Nazwa towaru lub uslugi | Benämning | Beskrivelse
quantity        | Qty/Quantity | Menge | Qté/Quantité | Cant./Cantidad | Q.tà | Aantal | Quantidade | Ilosc | Antal | Antal
unit            | Unit/UoM | Einheit/Einh. | Unité | Ud./Unidad | U.M. | Eenheid | Un. | J.m. | Enhet | Enhed
unit_price      | Unit Price/Price/Rate | Einzelpreis/E-Preis | P.U. HT/Prix unitaire HT | Precio/Precio unit. | Prezzo | Prijs | Preço unitário | Cena netto | À-pris | Stk. pris
net_amount      | Amount/Line Total | Gesamt/Betrag/Gesamtpreis | Montant HT/Total HT | Importe/Total | Importo | Bedrag | Valor | Wartosc netto | Belopp | Beløb
tax_rate        | VAT % | MwSt./USt. | TVA | IVA | IVA | Btw | IVA % | Stawka VAT | Moms | Moms
net_total       | Subtotal/Net Total | Nettobetrag/Summe netto/Zwischensumme | Total HT | Base imponible | Imponibile | Subtotaal | Total sem IVA | Razem netto | Summa exkl. moms | Beløb ekskl. moms
tax             | VAT/Sales Tax | MwSt./USt. | TVA | IVA | IVA | Btw | IVA | VAT | Moms | Moms
tax_total       | Total VAT/Total Tax | Steuer gesamt | Total TVA | Total IVA | Totale IVA | Totaal btw | Total IVA | Razem VAT | Moms totalt | Moms i alt
gross_total     | Total/Grand Total | Gesamtbetrag/Rechnungsbetrag/Gesamtsumme | Total TTC | Total/Total factura | Totale | Totaal | Total | Razem brutto | Totalt | I alt
amount_due      | Amount Due/Balance Due | Zahlbetrag/Offener Betrag | Net à payer | Total a pagar | Totale da pagare | Te betalen | Total a pagar | Do zaplaty | Att betala | Beløb at betale
base            | Net | Netto | Base HT | Base | Imponibile | Grondslag | Incidência | Netto | Underlag | Momsgrundlag
terms           | Payment Terms | Zahlungsbedingungen | Conditions de règlement | Condiciones de pago | Condizioni di pagamento | Betalingsvoorwaarden | Condições de pagamento | Warunki platnosci | Betalningsvillkor | Betalingsbetingelser
method          | Payment Method | Zahlungsart | Mode de règlement | Forma de pago | Modalità di pagamento | Betaalwijze | Forma de pagamento | Sposob zaplaty | Betalningssätt | Betalingsmåde
iban            | IBAN | IBAN | IBAN | IBAN | IBAN | IBAN | IBAN | IBAN | IBAN | IBAN
bic             | SWIFT/BIC | BIC | BIC | BIC | BIC | BIC | BIC | BIC | BIC | BIC
page            | Page | Seite | Page | Página | Pagina | Pagina | Página | Strona | Sida | Side
carry           | Carried forward | Übertrag | Report | Suma y sigue | Riporto | Transport | A transportar | Do przeniesienia | Transport | Transport
signature       | Received by | Ware erhalten | Reçu par | Recibí conforme | Firma | Voor ontvangst | Recebido por | Odebral | Mottaget av | Modtaget af
opening_balance | Opening Balance/Balance brought forward | Alter Kontostand/Anfangssaldo | Solde initial/Ancien solde | Saldo inicial | Saldo iniziale | Beginsaldo | Saldo inicial | Saldo poczatkowe | Ingående saldo | Saldo primo
closing_balance | Closing Balance/Balance carried forward | Neuer Kontostand/Endsaldo | Nouveau solde/Solde final | Saldo final | Saldo finale | Eindsaldo | Saldo final | Saldo koncowe | Utgående saldo | Saldo ultimo
debit           | Paid Out | Soll | Débit | Cargo | Addebito | Af | Débito | Obciazenia | Uttag | Hævet
credit_column   | Paid In | Haben | Crédit | Abono | Accredito | Bij | Crédito | Uznania | Insättning | Indsat
currency        | Currency | Währung | Devise | Divisa | Divisa | Valuta | Moeda | Waluta | Valuta | Valuta
amount          | Amount | Betrag | Montant | Importe | Importo | Bedrag | Valor | Kwota | Belopp | Beløb
details         | Details | Buchungstext | Libellé | Concepto | Descrizione | Omschrijving | Descrição | Opis operacji | Text | Tekst
balance         | Balance | Saldo | Solde | Saldo | Saldo | Saldo | Saldo | Saldo | Saldo | Saldo
"""  # noqa: E501  # one label, one row

_WORDINGS: dict[str, dict[str, str]] = {
    row.split("|")[0].strip(): dict(
        zip(LANGUAGES, (cell.strip() for cell in row.split("|")[1:]), strict=True),
    )
    for row in _LABELS.strip().splitlines()
}


@dataclass(frozen=True, slots=True)
class Wording:
    """A language with one country's and one house's habits.

    date: a pattern of CLDR. thousands, point: separators. symbol: the currency as printed.
    turn: which of a label's wordings is used.
    """

    language: str
    date: str
    point: str
    thousands: str
    symbol: str
    symbol_first: bool = False
    turn: int = 0

    def label(self, key: str) -> str:
        """The label `key` in this language."""
        choices = _WORDINGS[key][self.language].split("/")
        return choices[self.turn % len(choices)]

    def day(self, day: dt.date) -> str:
        """A date as this house writes it."""
        return format_date(day, self.date, locale=self.language)

    def number(self, value: Decimal, places: int = 2) -> str:
        """A number with `places` decimals."""
        marks = {",": self.thousands, ".": self.point}
        return "".join(marks.get(sign, sign) for sign in f"{value:,.{places}f}")

    def count(self, value: Decimal) -> str:
        """A number with no more decimals than it needs."""
        exponent = value.normalize().as_tuple().exponent
        return self.number(value, max(0, -int(exponent)))

    def money(self, value: Decimal) -> str:
        """An amount with its currency."""
        gap = "" if self.symbol in "$£€" and self.symbol_first else _HARD_SPACE
        number = self.number(value)
        return f"{self.symbol}{gap}{number}" if self.symbol_first else f"{number}{gap}{self.symbol}"

    def percent(self, rate: Decimal) -> str:
        """A tax rate."""
        return (
            f"{self.count(rate)}%"
            if self.language in {"en", "es", "nl", "pt", "pl"}
            else f"{self.count(rate)} %"
        )


GERMAN = Wording("de", "dd.MM.yyyy", ",", ".", "€")
GERMAN_LONG = Wording("de", "d. MMMM yyyy", ",", ".", "EUR", turn=1)
AUSTRIAN = Wording("de", "d.M.yyyy", ",", ".", "EUR", symbol_first=True, turn=2)
SWISS = Wording("de", "dd.MM.yyyy", ".", "'", "CHF", symbol_first=True)
BRITISH = Wording("en", "d MMMM yyyy", ".", ",", "£", symbol_first=True)
BRITISH_SHORT = Wording("en", "dd/MM/yyyy", ".", ",", "£", symbol_first=True, turn=2)
IRISH = Wording("en", "dd MMM yyyy", ".", ",", "€", symbol_first=True)
AMERICAN = Wording("en", "MM/dd/yyyy", ".", ",", "$", symbol_first=True, turn=1)
AMERICAN_LONG = Wording("en", "MMMM d, yyyy", ".", ",", "$", symbol_first=True, turn=3)
FRENCH = Wording("fr", "dd/MM/yyyy", ",", _HARD_SPACE, "€")
FRENCH_LONG = Wording("fr", "d MMMM yyyy", ",", _HARD_SPACE, "€", turn=1)
SPANISH = Wording("es", "dd/MM/yyyy", ",", ".", "€")
SPANISH_LONG = Wording("es", "d 'de' MMMM 'de' yyyy", ",", ".", "EUR", turn=1)
ITALIAN = Wording("it", "dd/MM/yyyy", ",", ".", "€", symbol_first=True)
DUTCH = Wording("nl", "dd-MM-yyyy", ",", ".", "€", symbol_first=True)
PORTUGUESE = Wording("pt", "d 'de' MMMM 'de' yyyy", ",", ".", "€")
POLISH = Wording("pl", "dd.MM.yyyy", ",", _HARD_SPACE, "zl")
SWEDISH = Wording("sv", "yyyy-MM-dd", ",", _HARD_SPACE, "kr")
DANISH = Wording("da", "d. MMMM yyyy", ",", ".", "kr.")
