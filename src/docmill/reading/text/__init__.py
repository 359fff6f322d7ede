"""Text without pages: encodings, character sets, languages, quality. Imports no other folder of reading."""
