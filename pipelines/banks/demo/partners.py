"""Those whom the demo bank's customers pay, and who pay them. Names are real where everybody knows them; numbers are invented."""

from pipelines.banks.demo.plans import partner

_COMMERZBANK, _DEUTSCHE_BANK, _POSTBANK, _LANDESBANK, _HYPO = "50040000", "50070010", "10010010", "60050101", "70020270"
_BUNDESBANK_BERLIN, _BUNDESBANK_MUNICH, _BUNDESBANK_FRANKFURT = "10000000", "70000000", "50000000"

# Those who pay.
NORDLICHT = partner("Nordlicht Maschinenbau GmbH", _COMMERZBANK)
KLINIKUM = partner("Klinikum am Park gGmbH", _LANDESBANK)
HANDEL = partner("Handelskontor Sued AG", _DEUTSCHE_BANK)
SOFTWARE = partner("Isarwerk Software GmbH", _HYPO)
SCHULAMT = partner("Landesamt fuer Besoldung", _LANDESBANK)
BACKSTUBE = partner("Baeckerei Sonnenkorn KG", _POSTBANK)
PENSION = partner("Deutsche Rentenversicherung Bund", _BUNDESBANK_BERLIN)
COMPANY_PENSION = partner("Pensionskasse der Metallwerke VVaG", _DEUTSCHE_BANK)
FAMILY_BENEFITS = partner("Bundesagentur fuer Arbeit - Familienkasse", _BUNDESBANK_FRANKFURT)
STUDENT_GRANT = partner("Bundeskasse Halle - BAfoeG", _BUNDESBANK_BERLIN)
CLIENT_AGENCY = partner("Agentur Blickfang GmbH", _COMMERZBANK)
CLIENT_PUBLISHER = partner("Verlag Morgenrot GmbH & Co. KG", _DEUTSCHE_BANK)
CLIENT_STARTUP = partner("Wolkenwerk UG", _POSTBANK)
PARENTS = partner("Sabine und Uwe Klein", "25050180")
TENANT = partner("Murat Yilmaz", "50010517")

# Home and energy.
LANDLORD_COLOGNE = partner("Rheinwohnen Verwaltungs GmbH", "37050198")
LANDLORD_LEIPZIG = partner("Studentenwerk Leipzig", _LANDESBANK)
LANDLORD_BERLIN = partner("Hausverwaltung Spreebogen", "10050000")
LANDLORD_HAMBURG = partner("Genossenschaft Elbwohnen eG", "20050550")
FLATSHARE = partner("Lena Wagner", "12030000")
VATTENFALL = partner("Vattenfall Europe Sales GmbH", _COMMERZBANK)
EON = partner("E.ON Energie Deutschland GmbH", _HYPO)
LICHTBLICK = partner("LichtBlick SE", "20050550")
STADTWERKE = partner("Stadtwerke München GmbH", "70150000")
BROADCASTING = partner("Rundfunk ARD, ZDF, DRadio", _LANDESBANK)
CITY_CASHIER = partner("Stadtkasse Stuttgart", _LANDESBANK)

# Telephone, streaming, sport.
TELEKOM = partner("Telekom Deutschland GmbH", _POSTBANK)
VODAFONE = partner("Vodafone GmbH", _DEUTSCHE_BANK)
O2 = partner("Telefonica Germany GmbH & Co. OHG", _HYPO)
CONGSTAR = partner("congstar GmbH", _COMMERZBANK)
NETFLIX = partner("Netflix International B.V.", _DEUTSCHE_BANK)
SPOTIFY = partner("Spotify AB", _DEUTSCHE_BANK)
PAYPAL = partner("PayPal Europe S.a.r.l. et Cie S.C.A", _DEUTSCHE_BANK)
GYM = partner("RSG Group GmbH", _COMMERZBANK)
SPORTS_CLUB = partner("TSV Gruen-Weiss 1902 e.V.", _LANDESBANK)
NEWSPAPER = partner("Hannoversche Zeitungsgesellschaft mbH", "25050180")

# Insurance, health, provision.
HUK = partner("HUK-COBURG-Allgemeine Versicherung AG", _HYPO)
HUK24 = partner("HUK24 AG", _HYPO)
ALLIANZ = partner("Allianz Versicherungs-AG", _HYPO)
ALLIANZ_LIFE = partner("Allianz Lebensversicherungs-AG", _LANDESBANK)
DEBEKA = partner("Debeka Krankenversicherungsverein a.G.", _COMMERZBANK)
DEVK = partner("DEVK Allgemeine Versicherungs-AG", "37050198")
ERGO = partner("ERGO Versicherung AG", _COMMERZBANK)
TK = partner("Techniker Krankenkasse", _COMMERZBANK)
ADAC = partner("ADAC Versicherung AG", _HYPO)

# State, mobility, family, giving, banks.
TAX_OFFICE = partner("Finanzamt Berlin Mitte/Tiergarten", _BUNDESBANK_BERLIN)
VEHICLE_TAX = partner("Bundeskasse Kiel", _BUNDESBANK_MUNICH)
TRANSIT_COLOGNE = partner("Koelner Verkehrs-Betriebe AG", "37050198")
RAILWAY = partner("DB Vertrieb GmbH", _DEUTSCHE_BANK)
CHILDCARE = partner("Evangelische Kindertagesstaette Regenbogen", "60090100")
MUSIC_SCHOOL = partner("Musikschule Filderstadt", _LANDESBANK)
DONATION = partner("Deutsche Welthungerhilfe e.V.", "37050198")
CAR_FINANCE = partner("Volkswagen Bank GmbH", _COMMERZBANK)
COWORKING = partner("Betahaus GmbH", "43060967")
FUND_SAVINGS = partner("Deka Investmentfonds", _LANDESBANK)
