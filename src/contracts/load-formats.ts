/** Files that become tables, and how the values in them are written. Plain: also read by the client, which has no schemas. */
export const LOAD_FORMATS = ['csv', 'ndjson', 'json', 'xlsx', 'parquet'] as const
export type LoadFormat = (typeof LOAD_FORMATS)[number]

/** By the end of its name. */
const FORMATS_BY_EXTENSION: Readonly<Record<string, LoadFormat>> = {
  csv: 'csv',
  tsv: 'csv',
  txt: 'csv',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  json: 'json',
  xlsx: 'xlsx',
  parquet: 'parquet',
}
export const LOAD_EXTENSIONS = Object.keys(FORMATS_BY_EXTENSION).map((extension) => `.${extension}`)

export function loadFormatOf(filename: string): LoadFormat | undefined {
  const extension = /\.([a-z]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(FORMATS_BY_EXTENSION, extension) ? FORMATS_BY_EXTENSION[extension] : undefined
}

/** How the values of a column are written. */
export const LOAD_TYPES = {
  text: 'as it is',
  number: '1234.5',
  number_comma: '1.234,5',
  boolean: 'true or false',
  date: '2026-03-01',
  date_dmy: '01.03.2026 or 1/3/2026, the day first',
  date_mdy: '3/1/2026, the month first',
  timestamp: '2026-03-01 09:30, in UTC where it has no zone',
  timestamp_dmy: '01.03.2026 09:30, the day first',
  timestamp_mdy: '3/1/2026 09:30, the month first',
  time: '09:30 or 09:30:05',
} as const
export type LoadType = keyof typeof LOAD_TYPES
