/** Forms of operations: their fields are read off the contract, and so is what was submitted. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { ServiceError } from '../contracts/errors.ts'
import type { Operation } from '../contracts/operation.ts'
import {
  areaField,
  choice,
  inputField,
  selectField,
  type Content,
  type InputField,
  type Option,
} from '../pages/parts.ts'
import { contractField, readField, shownValue, type ContractField } from './contract-field.ts'
import type { PageContext } from './context.ts'
import { text, texts } from './forms.ts'

/** What only this page says of a field, or what nobody knows before it is shown. */
export type Special = Partial<
  Pick<InputField, 'type' | 'autocomplete' | 'className' | 'required' | 'placeholder' | 'preview'>
> & {
  label?: string
  hint?: Content
  /** Of the input, where it is not the key: for two fields of one page, or an address that is known by it. */
  name?: string
  id?: string
  rows?: number
  /** Of a choice, in the words and the order of the page; left out, the values themselves. */
  options?: readonly Option[]
  /** Any other value is allowed too. */
  suggestions?: readonly string[]
  /** Spaces at its ends belong to it. */
  isVerbatim?: boolean
}

type Specials<K extends string> = Readonly<Partial<Record<K, Special>>>

/** A form that was submitted and is shown again, mostly because it was refused; of several on a page, which one. */
export type Refused = { readonly of?: object; readonly form: FormData; readonly problem?: ServiceError }

export type Shown<K extends string> = {
  readonly problem: ServiceError | undefined
  readonly refused: Refused | undefined
  /** The fields that show their own problems. */
  readonly shown: readonly string[]
  readonly all: () => Content
  readonly field: (key: K, special?: Special) => Content
  readonly value: (key: K) => string
  readonly list: (key: K) => readonly string[]
  readonly isOn: (key: K) => boolean
}

type Given<K extends string> = {
  /** What is stored; what was typed and refused is shown instead. */
  now?: Readonly<Partial<Record<K, unknown>>>
  refused?: Refused | undefined
  with?: Specials<K>
}

export type Form<I extends z.ZodObject, O extends z.ZodObject, K extends string> = {
  readonly operation: Operation<I, O>
  readonly fields: readonly ContractField[]
  readonly show: (given?: Given<K>) => Shown<K>
  readonly read: (form: FormData) => Pick<z.input<I>, K & keyof z.input<I>>
}

/** All of them: a test compares what they render with the contracts. */
export const FORMS: Form<z.ZodObject, z.ZodObject, string>[] = []

/** Of an object within the input of an operation. */
export const partOf = <I extends z.ZodObject, K extends keyof z.input<I> & string>(
  input: I,
  keys: readonly K[],
  specials?: Specials<K>,
) => formOf({ input } as Operation<I>, keys, specials)

/** Once, when the page is loaded. */
export function formOf<I extends z.ZodObject, O extends z.ZodObject, K extends keyof z.input<I> & string>(
  operation: Operation<I, O>,
  keys: readonly K[],
  specials?: Specials<K>,
): Form<I, O, K> {
  const changes = operation.idempotent && !operation.readOnly
  const fields = keys.map((key) => contractField(key, operation.input.shape[key] as z.ZodType, changes))
  const byKey = new Map(fields.map((field) => [field.key, field]))
  const form: Form<I, O, K> = {
    operation,
    fields,
    show: ({ now, refused: refusedNow, with: more } = {}) => {
      const refused = refusedNow && (refusedNow.of ?? form) === form ? refusedNow : undefined
      const specialOf = (key: K): Special => Object.assign({}, specials?.[key], more?.[key])
      const held = (key: K): unknown => (now && key in now ? now[key] : byKey.get(key)!.initial)
      const nameOf = (key: K): string => specialOf(key).name ?? key
      const value = (key: K): string => (refused ? text(refused.form, nameOf(key)) : shownValue(held(key)))
      const list = (key: K): readonly string[] =>
        refused ? texts(refused.form, nameOf(key)) : ((held(key) ?? []) as readonly string[])
      const isOn = (key: K): boolean => ['true', 'yes'].includes(value(key))
      const field = (key: K, special: Special = {}): Content =>
        render(
          byKey.get(key)!,
          { ...specialOf(key), ...special },
          { value: () => value(key), list: () => list(key), problem: refused?.problem },
        )
      return {
        problem: refused?.problem,
        refused,
        shown: keys.map(nameOf),
        all: () => keys.map((key) => field(key)),
        field,
        value,
        list,
        isOn,
      }
    },
    read: (submitted) =>
      Object.fromEntries(
        keys.map((key) => {
          const { name = key, isVerbatim }: Special = specials?.[key] ?? {}
          return [key, isVerbatim ? text(submitted, name) : readField(byKey.get(key)!, submitted, name)]
        }),
      ) as ReturnType<Form<I, O, K>['read']>,
  }
  FORMS.push(form as unknown as (typeof FORMS)[number])
  return form
}

type Held = { value: () => string; list: () => readonly string[]; problem: ServiceError | undefined }

function render(field: ContractField, special: Special, { value, list, problem }: Held): Content {
  const { control, maxlength } = field
  const {
    name = field.key,
    label = field.label,
    hint = field.hint && hintOf(field.hint),
    placeholder = field.placeholder,
    required = field.required,
    type = field.type,
    rows = field.rows,
    options = control === 'select' || control === 'boxes' ? optionsOf(field) : undefined,
    id,
  } = special
  const words = { id, name, label, hint, problem }
  if (control === 'switch')
    return choice('checkbox', name, 'yes', ['true', 'yes'].includes(value()), label, hint)
  if (control === 'boxes') return boxes(name, label, options ?? [], list())
  if (options) return selectField({ ...words, value: value(), options })
  if (control === 'area' || control === 'lines' || control === 'pairs')
    return areaField({
      ...words,
      value: type === 'password' ? '' : value(),
      rows,
      required,
      maxlength,
      placeholder,
    })
  return inputField({
    ...words,
    type,
    value: type === 'password' ? '' : type === 'datetime-local' ? value().slice(0, 16) : value(),
    autocomplete: special.autocomplete ?? 'off',
    className: special.className,
    preview: special.preview,
    required,
    minlength: field.minlength,
    maxlength,
    min: field.min,
    max: field.max,
    isWhole: true,
    placeholder,
    options: special.suggestions ?? field.suggestions,
  })
}

const boxes = (name: string, label: string, options: readonly Option[], ticked: readonly string[]) =>
  html`<fieldset>
    <legend>${label}</legend>
    ${options.map((one) => choice('checkbox', name, one.value, ticked.includes(one.value), one.label))}
  </fieldset>`

const optionsOf = ({ choices }: ContractField): readonly Option[] =>
  choices.map((value) => ({ value, label: value }))

/** What stands between backticks is code. */
const hintOf = (hint: string): Content =>
  hint.includes('`')
    ? hint.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))
    : hint

/** Problems of `definition.url` belong beside the field `url`. */
export const innerProblem = (problem: ServiceError, outer: RegExp): ServiceError =>
  new ServiceError(problem.code, problem.message, {
    ...(problem.hint !== undefined && { hint: problem.hint }),
    ...(problem.problems && { problems: problem.problems.map((one) => one.replace(outer, '')) }),
  })

export const refuse = (c: PageContext, problem: ServiceError, of?: object): Refused => ({
  ...(of && { of }),
  form: c.get('form'),
  problem,
})
