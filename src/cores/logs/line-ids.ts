/** Lines are numbered and groups have a key; outside both are ids like any other. */
const DIGITS = 25

const written = (value: bigint): string => value.toString(36).padStart(DIGITS, '0')

export const lineId = (number: number): string => `lgl_${written(BigInt(number))}`

/** Null: no id of a line. */
export function lineNumber(id: string): number | null {
  const digits = /^lgl_([0-9a-z]{25})$/.exec(id)?.[1]
  const number = digits === undefined ? Number.NaN : Number.parseInt(digits, 36)
  return Number.isSafeInteger(number) ? number : null
}

/** The lines of all groups that are not kept apart. */
export const OTHER_GROUP = 0n

export const groupId = (key: bigint): string => `lgr_${written(BigInt.asUintN(64, key))}`

/** Null: no group has this id. */
export function groupKey(id: string): bigint | null {
  let value = 0n
  for (const digit of id.slice('lgr_'.length)) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  return value === BigInt.asUintN(64, value) ? BigInt.asIntN(64, value) : null
}
