/**
 * How people write numbers, dates and times, as patterns that the database and this program read alike, and what Postgres
 * makes of them. A pattern lets no day through that the calendar does not have: a cast would fail all rows for it.
 */
import type { ColumnType } from '../../../db/schema.ts'
import type { LoadFormat, LoadType } from '../../contracts/load-formats.ts'

/** As people write numbers. One with a leading zero is a name: 007. */
const WHOLE_NUMBER = `-?(?:0|[1-9][0-9]{0,14})`
/** Behind the point programs write all digits that a value has. */
const NUMBER = `${WHOLE_NUMBER}(?:[.][0-9]{1,30})?`
const NUMBER_COMMA = `-?(?:0|[1-9][0-9]{0,14}|[1-9][0-9]{0,2}(?:[.][0-9]{3}){1,4})(?:,[0-9]{1,30})?`
/** 1,234 may be meant in either way. */
const NUMBER_THOUSANDS = `-?(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3}){0,4})(?:[.][0-9]{1,30})?`

/** Postgres has no year 0. */
const YEAR = `(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])`
const LEAP_YEAR = `(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)`

/** Of each kind of month: its numbers, and those of its days. */
const monthsAndDays = (zero: string): readonly (readonly [months: string, days: string])[] => [
  [`(?:${zero}[13578]|1[02])`, `(?:${zero}[1-9]|[12][0-9]|3[01])`],
  [`(?:${zero}[469]|11)`, `(?:${zero}[1-9]|[12][0-9]|30)`],
  [`${zero}2`, `(?:${zero}[1-9]|1[0-9]|2[0-8])`],
]
const either = (patterns: readonly string[]): string => `(?:${patterns.join('|')})`

const DATE = either([
  `${YEAR}-${either(monthsAndDays('0').map(([month, day]) => `${month}-${day}`))}`,
  `${LEAP_YEAR}-02-29`,
])
const DATE_DMY = either(
  ['[.]', '/', '-'].flatMap((mark) => [
    `${either(monthsAndDays('0?').map(([month, day]) => `${day}${mark}${month}`))}${mark}${YEAR}`,
    `29${mark}0?2${mark}${LEAP_YEAR}`,
  ]),
)
const DATE_MDY = either(
  ['/', '-'].flatMap((mark) => [
    `${either(monthsAndDays('0?').map(([month, day]) => `${month}${mark}${day}`))}${mark}${YEAR}`,
    `0?2${mark}29${mark}${LEAP_YEAR}`,
  ]),
)
const TIME = `(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,6})?)?`
const ZONE = `(?:Z|[-+](?:0[0-9]|1[0-4]):?[0-5][0-9])`

const whole = (pattern: string): string => `^(?:${pattern})$`

/** A blank or a T before the time of day, which may be missing. */
const withTime = (date: string): string => whole(`${date}(?:[ T]${TIME}${ZONE}?)?`)

type Kind = {
  readonly type: ColumnType
  /** Text has none. */
  readonly pattern: string
  /** Of a text that fits: its value. */
  readonly value: (text: string) => string
  readonly words: string
}

/** Without a zone it is UTC; kept without one, so that no setting of a session changes what is shown. */
const timestampOf = (date: (text: string) => string) => (text: string) => {
  const time = `coalesce(nullif(regexp_replace(${text}, '^[^ T]+[ T]?', ''), ''), '00:00')`
  return `((${date(`regexp_replace(${text}, '[ T].*$', '')`)}::text || ' ' || ${time} ||
    case when ${text} ~ '${ZONE}$' and ${text} ~ '[ T]' then '' else 'Z' end)::timestamptz at time zone 'UTC')`
}
const isoDate = (text: string): string => `(${text})::date`
const dateFrom = (order: string) => (text: string) => `to_date(translate(${text}, '/-', '..'), '${order}')`

export const KINDS: Record<Exclude<LoadType, 'text'>, Kind> = {
  number: {
    type: 'numeric',
    pattern: whole(NUMBER),
    value: (text) => `(${text})::numeric`,
    words: 'a number',
  },
  number_comma: {
    type: 'numeric',
    pattern: whole(NUMBER_COMMA),
    value: (text) => `translate(${text}, ',.', '.')::numeric`,
    words: 'a number with a decimal comma',
  },
  boolean: {
    type: 'boolean',
    pattern: whole('true|false'),
    value: (text) => `(${text})::boolean`,
    words: 'true or false',
  },
  date: { type: 'date', pattern: whole(DATE), value: isoDate, words: 'a date such as 2026-03-01' },
  date_dmy: {
    type: 'date',
    pattern: whole(DATE_DMY),
    value: dateFrom('DD.MM.YYYY'),
    words: 'a date such as 31.12.2026',
  },
  date_mdy: {
    type: 'date',
    pattern: whole(DATE_MDY),
    value: dateFrom('MM.DD.YYYY'),
    words: 'a date such as 12/31/2026',
  },
  timestamp: {
    type: 'timestamp',
    pattern: withTime(DATE),
    value: timestampOf(isoDate),
    words: 'a time such as 2026-03-01 09:30',
  },
  timestamp_dmy: {
    type: 'timestamp',
    pattern: withTime(DATE_DMY),
    value: timestampOf(dateFrom('DD.MM.YYYY')),
    words: 'a time such as 31.12.2026 09:30',
  },
  timestamp_mdy: {
    type: 'timestamp',
    pattern: withTime(DATE_MDY),
    value: timestampOf(dateFrom('MM.DD.YYYY')),
    words: 'a time such as 12/31/2026 09:30',
  },
  time: {
    type: 'time',
    pattern: whole(TIME),
    value: (text) => `(${text})::time`,
    words: 'a time of day such as 09:30',
  },
}

/** In the order in which they are tried. */
const KIND_NAMES = Object.keys(KINDS) as (keyof typeof KINDS)[]

/** What all values of a column fit; those of an English number with commas are told apart by others, as are whole numbers. */
export const CHECKS = {
  ...Object.fromEntries(KIND_NAMES.map((name) => [name, KINDS[name].pattern])),
  thousands: whole(NUMBER_THOUSANDS),
  whole: whole(WHOLE_NUMBER),
} as Record<keyof typeof KINDS | 'thousands' | 'whole', string>
export type Check = keyof typeof CHECKS

/** All ways in which values of a type are written, also the one that nobody can choose. */
export const READINGS = {
  ...KINDS,
  thousands: { type: 'numeric', value: (text: string) => `replace(${text}, ',', '')::numeric` },
} as const satisfies Partial<Record<Check, Pick<Kind, 'type' | 'value'>>>
export type Reading = keyof typeof READINGS

/** Files of other formats know numbers, which have a point; in CSV they are written as people do. */
export const mayGroupByPoint = (format: LoadFormat): boolean => format === 'csv'

/** Undefined: they can be meant in two ways, and a person has to say which. */
export function recognize(format: LoadFormat, fits: (check: Check) => boolean): LoadType | undefined {
  const found = KIND_NAMES.find((name) => fits(name))
  if (found === undefined) return 'text'
  // 1.500 is a half more than one, or a thousand five hundred.
  if (found === 'number' && mayGroupByPoint(format) && fits('number_comma') && !fits('whole'))
    return undefined
  if (found === 'number_comma' && fits('thousands')) return undefined
  if (found === 'date_dmy' && fits('date_mdy')) return undefined
  if (found === 'timestamp_dmy' && fits('timestamp_mdy')) return undefined
  return found
}

const PATTERNS = new Map(Object.entries(CHECKS).map(([name, pattern]) => [name, new RegExp(pattern)]))

/** Of the first rows. Empty ones say nothing. */
export function recognizeValues(format: LoadFormat, values: readonly string[]): LoadType | undefined {
  const said = values.filter((value) => value !== '')
  if (said.length === 0) return 'text'
  return recognize(format, (check) => said.every((value) => PATTERNS.get(check)!.test(value)))
}

export const typeOfKind = (kind: LoadType): ColumnType => (kind === 'text' ? 'text' : KINDS[kind].type)

/** Those that give values of this type. */
export const kindsOfType = (type: ColumnType): (keyof typeof KINDS)[] =>
  KIND_NAMES.filter((name) => KINDS[name].type === type)

export const readingsOfType = (type: ColumnType): Reading[] =>
  (Object.keys(READINGS) as Reading[]).filter((name) => READINGS[name].type === type)

export const TYPE_WORDS: Record<ColumnType, string> = {
  text: 'a text',
  numeric: 'a number',
  boolean: 'true or false',
  date: 'a date',
  timestamp: 'a time',
  time: 'a time of day',
  'text[]': 'a list',
  jsonb: 'JSON',
}
