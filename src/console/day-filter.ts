/** Days in the filters of a list. They stand in an address that people edit: what is no day is left out, not refused. */

const DAY = /^(?:19|20|21)\d\d-\d\d-\d\d$/

export function readDay(text: string | undefined): string | undefined {
  if (text === undefined || !DAY.test(text)) return undefined
  const time = Date.parse(text)
  // 31 February is read as a day of March.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text) ? text : undefined
}

/** As the gateway takes them. */
export const periodOf = ({ from, to }: Record<string, string>) => ({
  from: beginOf(readDay(from)),
  to: endOf(readDay(to)),
})

export const beginOf = (day: string | undefined): string | undefined => day && `${day}T00:00:00.000Z`
export const endOf = (day: string | undefined): string | undefined => day && `${day}T23:59:59.999Z`
