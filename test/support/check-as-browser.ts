/**
 * Refuses what a browser would not send: what HTML calls the constraints of a field. Lengths also of what nobody has changed,
 * where a browser would not look: then the page has them wrong.
 */

type Attributes = Readonly<Record<string, string>>

export function checkAsBrowser(
  { name, attributes }: { readonly name: string; readonly attributes: Attributes },
  values: readonly string[],
): void {
  const { type, required, readonly, minlength = 0, maxlength = Infinity, pattern } = attributes
  if (type === 'hidden' || readonly !== undefined) return
  const text = values.join('')
  if (required !== undefined && text === '') throw new Error(`The browser asks for ${name} first`)
  // Of what may be left empty nothing else is asked.
  if (text === '') return
  const { length } = text.replaceAll('\r\n', '\n')
  if (length < Number(minlength)) throw new Error(`${name} takes at least ${minlength} characters`)
  if (length > Number(maxlength)) throw new Error(`${name} takes ${maxlength} characters`)
  if (pattern !== undefined && !new RegExp(`^(?:${pattern})$`, 'v').test(text))
    throw new Error(`${name} takes ${pattern} only`)
  if (type === 'email' && !EMAIL.test(text.trim())) throw new Error(`${name} takes email addresses only`)
  if (type === 'url' && !URL.canParse(text.trim())) throw new Error(`${name} takes whole addresses only`)
  if (type === 'number') checkNumber(name, text, attributes)
}

/** As HTML has it, which is neither the RFCs' nor ours. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i

const NUMBER = /^-?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i

function checkNumber(name: string, text: string, { min, max, step = '1', value = '0' }: Attributes): void {
  if (!NUMBER.test(text)) throw new Error(`${name} takes numbers only`)
  const number = Number(text)
  if (min !== undefined && number < Number(min)) throw new Error(`${name} takes ${min} or more`)
  if (max !== undefined && number > Number(max)) throw new Error(`${name} takes ${max} or less`)
  if (step === 'any') return
  // From the least on, or from what the page has in it.
  const steps = (number - Number(min ?? value)) / Number(step)
  if (Math.abs(steps - Math.round(steps)) > 1e-9) throw new Error(`${name} goes by steps of ${step}`)
}
