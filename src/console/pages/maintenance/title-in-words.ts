/** What a finding or a run is called: what went wrong and where, such as "TypeError in cart.js:12". */

type Found = {
  /** What an analyst wrote; null for those who may not read source and logs. */
  readonly summary: string | null
  /** `src/cart.js:12` */
  readonly location?: string | null
}

/** Names that languages give to errors. */
const ERROR = /\b[A-Z][A-Za-z]*(?:Error|Exception|Panic|Timeout)\b/
const PLACE = /\b[\w@.-]{1,100}\.[A-Za-z]{1,10}:\d{1,7}\b/
/** As long as a title may be. */
const TITLE_MAX = 90

/** Undefined where nothing is known, or nothing may be. */
export function titleInWords({ summary, location }: Found): string | undefined {
  const text = summary?.trim() ?? ''
  if (text === '') return undefined
  const place = location?.split('/').at(-1) ?? PLACE.exec(text)?.[0]
  const error = ERROR.exec(text)?.[0]
  if (error !== undefined) return place === undefined ? error : `${error} in ${place}`
  const [sentence = ''] = text.split(/(?<=[.!?])\s|\n/, 1)
  const words = sentence.length > TITLE_MAX ? `${sentence.slice(0, TITLE_MAX).toWellFormed()}…` : sentence
  const title = words.replace(/[.:]$/, '')
  return place === undefined || title.includes(place) ? title : `${title} in ${place}`
}
