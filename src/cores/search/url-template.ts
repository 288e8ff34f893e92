/** `url_template`: where the rows of a table are found elsewhere. Values of rows fill it, and never choose the host. */
import type { Hit } from '../../contracts/data-sources.ts'

/** `{name}`, or `{+name}` as in RFC 6570: its slashes stay. */
const PLACEHOLDER = /\{(\+?)([^{}]*)\}/g
/** A link that no browser and no assistant takes is none. */
const URL_MAX_CHARACTERS = 2_000

export function urlTemplateProblems(template: string, columns: readonly string[]): string[] {
  const unknown = [...template.matchAll(PLACEHOLDER)]
    .map(([, , name]) => name!)
    .filter((name) => !columns.includes(name))
  const problems = [...new Set(unknown)].map(
    (name) => `url_template names "${name}", which is not among the content columns`,
  )
  if (/[{}]/.test(template.replaceAll(PLACEHOLDER, ''))) {
    problems.push('url_template has a brace without its other one')
  }
  // With two different values the beginning stays the same only where no placeholder is in it.
  const [one, two] = ['1', '2.example'].map((value) => URL.parse(template.replaceAll(PLACEHOLDER, value)))
  const isFixed = one && two && /^https?:\/\//i.test(template) && one.origin === two.origin
  if (!isFixed || one.username !== '' || one.password !== '' || two.username !== '') {
    problems.push('url_template must begin with http:// or https:// and a host without placeholders')
  } else if (climbs(template)) problems.push('url_template must not have "." or ".." between its slashes')
  return problems
}

/** Undefined where a value is missing, or would lead elsewhere: then a hit links to its page here. */
export function fillUrlTemplate(
  template: string,
  columns: readonly string[],
  { id, title, metadata }: Hit,
): string | undefined {
  const values = new Map<string, unknown>([
    ...Object.entries(metadata),
    ...(columns[1] === undefined ? [] : [[columns[1], title] as const]),
    [columns[0]!, id],
  ])
  let isWhole = true
  const filled = template.replaceAll(PLACEHOLDER, (_all, keepsSlashes: string, name: string) => {
    const value = values.get(name)
    const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
    const text = isPlain ? String(value) : ''
    if (text === '' || !text.isWellFormed()) isWhole = false
    const encoded = encodeURIComponent(text.toWellFormed())
    return keepsSlashes === '+' ? encoded.replaceAll('%2F', '/') : encoded
  })
  return isWhole && filled.length <= URL_MAX_CHARACTERS && !climbs(filled) ? filled : undefined
}

/** Browsers take such parts away, with the one before, also where their dots are encoded. */
const climbs = (url: string): boolean =>
  url
    .replace(/[?#].*$/s, '')
    .split('/')
    .some((part) => /^(\.|%2e){1,2}$/i.test(part))
