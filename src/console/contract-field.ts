/** What the contract says of a field: which control it is, what can be typed into it, and what that means. */
import type * as z from 'zod'
import { fieldTexts } from '../contracts/field.ts'
import { text, texts, utcMoment } from './forms.ts'

/** Lines are a list of texts, one in a line; pairs a record of them, as `name: value`. */
type Control = 'text' | 'area' | 'number' | 'moment' | 'lines' | 'pairs' | 'select' | 'boxes' | 'switch'

export type ContractField = {
  readonly key: string
  readonly control: Control
  readonly type: 'text' | 'email' | 'password' | 'number' | 'datetime-local'
  readonly label: string
  readonly hint: string | undefined
  readonly placeholder: string | undefined
  readonly suggestions: readonly string[] | undefined
  readonly rows: number
  readonly required: boolean
  readonly minlength: number | undefined
  readonly maxlength: number | undefined
  readonly min: number | undefined
  readonly max: number | undefined
  readonly choices: readonly string[]
  /** As it is shown before anybody typed anything. */
  readonly initial: unknown
  /** What a field that was left empty sends: nothing where the contract does without, else the empty text. */
  readonly empty: undefined | null | ''
}

type Def = {
  readonly type: string
  readonly innerType?: z.ZodType
  readonly in?: z.ZodType
  readonly out?: z.ZodType
  readonly element?: z.ZodType
  readonly defaultValue?: unknown
}
const defOf = (schema: z.ZodType): Def => schema.def

/** `changes`: what is left out stays as it is, so what is shown and emptied must be sent. */
export function contractField(key: string, schema: z.ZodType, changes: boolean): ContractField {
  const said = fieldTexts(schema)
  const { core, mayLack, mayBeNull, initial } = unwrap(schema)
  const control = said.rows === undefined ? controlOf(core) : areaOf(core)
  const { minLength, maxLength, minValue, maxValue } = innermost(core) as Partial<z.ZodString & z.ZodNumber>
  const isText = control === 'text' || control === 'area'
  const mayBeEmpty = changes ? isText && core.safeParse('').success : mayLack && initial === undefined
  return {
    key,
    control,
    type: said.isSecret ? 'password' : typeOf(control, core),
    label: said.label ?? sentenceOf(key),
    hint: said.hint,
    placeholder: said.example,
    suggestions: said.suggestions?.(),
    rows: said.rows ?? 3,
    required:
      !['lines', 'pairs', 'boxes', 'switch'].includes(control) && !mayBeNull && initial !== '' && !mayBeEmpty,
    minlength: minLength && minLength > 1 ? minLength : undefined,
    maxlength: said.maxLength ?? (control === 'lines' ? linesMax(core) : (maxLength ?? undefined)),
    min: safe(minValue),
    max: safe(maxValue),
    choices: choicesOf(innermost(core)),
    initial,
    empty: mayBeNull ? null : mayLack && !(changes && isText) ? undefined : '',
  }
}

/** Without what says that it may be absent. */
function unwrap(schema: z.ZodType) {
  let [core, mayLack, mayBeNull, initial]: [z.ZodType, boolean, boolean, unknown] = [
    schema,
    false,
    false,
    undefined,
  ]
  for (;;) {
    const def = defOf(core)
    if (def.innerType === undefined) return { core, mayLack, mayBeNull, initial }
    if (def.type === 'nullable') mayBeNull = true
    else mayLack = true
    if (def.defaultValue !== undefined) initial = def.defaultValue
    core = def.innerType
  }
}

/** What is typed, before it is changed into something else. */
function innermost(schema: z.ZodType): z.ZodType {
  const { in: first } = defOf(schema)
  return first ? innermost(first) : schema
}

function controlOf(schema: z.ZodType): Control {
  const { type, element } = defOf(innermost(schema))
  switch (type) {
    case 'number':
      return 'number'
    case 'boolean':
      return 'switch'
    case 'enum':
      return 'select'
    case 'array':
      return element && choicesOf(element).length > 0 ? 'boxes' : 'lines'
    case 'record':
      return 'pairs'
    default:
      return formatOf(schema) === 'datetime' ? 'moment' : 'text'
  }
}

const areaOf = (schema: z.ZodType): Control => {
  const control = controlOf(schema)
  return control === 'text' ? 'area' : control
}

function typeOf(control: Control, schema: z.ZodType): ContractField['type'] {
  if (control === 'number') return 'number'
  if (control === 'moment') return 'datetime-local'
  return formatOf(schema) === 'email' ? 'email' : 'text'
}

const formatOf = (schema: z.ZodType): string | null | undefined =>
  (schema as { format?: string | null }).format ?? (defOf(schema).out && formatOf(defOf(schema).out!))

function choicesOf(schema: z.ZodType): readonly string[] {
  const { type, element } = defOf(schema)
  if (type === 'array' && element) return choicesOf(element)
  return type === 'enum' ? (schema as z.ZodEnum).options.map(String) : []
}

/** All lines together, with their line breaks. */
function linesMax(list: z.ZodType): number | undefined {
  const { maximum } = list._zod.bag as { maximum?: number }
  const { maxLength } = innermost(defOf(list).element!) as Partial<z.ZodString>
  return maximum && maxLength ? maximum * (maxLength + 2) : undefined
}

/** The bounds of every integer are no bounds to tell people. */
const safe = (bound: number | null | undefined): number | undefined =>
  bound === null || bound === undefined || Math.abs(bound) >= Number.MAX_SAFE_INTEGER ? undefined : bound

const sentenceOf = (key: string): string => {
  const words = key.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** As it stands in the field: of a list or a record, one in a line. */
export function shownValue(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.join('\n')
  if (typeof value !== 'object') return JSON.stringify(value)
  return Object.entries(value)
    .map(([name, held]) => `${name}: ${held}`)
    .join('\n')
}

/** Not yet what the operation takes: what is no number is sent as it was typed, and the gateway says so. */
export function readField(
  { control, type, choices, empty }: ContractField,
  form: FormData,
  name: string,
): unknown {
  if (control === 'boxes') return choices.filter((choice) => texts(form, name).includes(choice))
  // Forms send line breaks as CRLF.
  const typed = text(form, name).replaceAll('\r\n', '\n')
  if (control === 'switch') return ['true', 'yes'].includes(typed)
  const trimmed = typed.trim()
  if (trimmed === '')
    return control === 'pairs' ? {} : control === 'lines' ? (empty === undefined ? undefined : []) : empty
  if (control === 'lines') return linesOf(trimmed)
  if (control === 'pairs') return Object.fromEntries(linesOf(trimmed).map(pairOf))
  if (control === 'number') return /^-?\d{1,12}(?:\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed
  if (control === 'moment') return utcMoment(trimmed) ?? trimmed
  return control === 'area' || type === 'password' ? typed : trimmed
}

const linesOf = (typed: string): string[] =>
  typed
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

function pairOf(line: string): [name: string, value: string] {
  const at = line.indexOf(':')
  return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}
