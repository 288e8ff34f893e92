/** What people are told about a field of an operation's input: the console's forms and the client's help are made of it. */
import * as z from 'zod'

export type FieldTexts = {
  /** Above the field in a form. */
  readonly label?: string
  /** Below the field in a form; in the client's help, unless `client` says something shorter. */
  readonly hint?: string
  readonly example?: string
  /** In a form it is a text of several lines, so many of them visible. */
  readonly rows?: number
  /** What a form suggests; any other value is allowed too. */
  readonly suggestions?: () => readonly string[]
  /** On one line it is typed unseen; a form does not show it again when it was refused. */
  readonly isSecret?: boolean
  /** Where a pattern limits its length, which no form can read. */
  readonly maxLength?: number
  /** A text alone: what help says of it. */
  readonly client?: ClientField | string
}

/** How the client names it. Left out: `--` and the key with dashes, or the argument that the command names. */
export type ClientField = {
  readonly flag?: string
  readonly short?: string
  /** What stands for the value in the help: `--limit <n>`. */
  readonly value?: string
  readonly summary?: string
  /** The switch that sends false, or no element of a list. Without a `flag` it is the only one. */
  readonly not?: { readonly flag: string; readonly summary: string }
  /** What the shell completes it with. */
  readonly values?: 'sources' | 'databases' | 'apps'
  /** What the client sends where nobody says; names in braces are those of the input. */
  readonly default?: string | readonly string[]
  /** Where the contract requires it and it is no argument. */
  readonly missing?: { readonly problem?: string; readonly hint: string }
  /** Given as a file, or as text (`stdin`); with `-` from stdin: what it is called. */
  readonly file?: string
  readonly stdin?: string
  /** Of a time: how long ago it was will do, such as 15m. */
  readonly ago?: true
  /** Of an id: the list of those that people may call by their name instead. */
  readonly namedBy?: string
  /** Of an id that is this and a name: people give the name. */
  readonly prefix?: string
}

const FIELD_TEXTS = z.registry<FieldTexts>()

/** A copy: the same schema may stand for several fields. */
export function field<S extends z.ZodType>(schema: S, texts: FieldTexts): S {
  const copy = schema.clone()
  FIELD_TEXTS.add(copy, { ...fieldTexts(schema), ...texts })
  return copy
}

/** The same for several fields of an object. */
export const fields = <Shape extends z.ZodRawShape>(
  shape: Shape,
  texts: { readonly [Key in keyof Shape]?: FieldTexts },
): Shape =>
  Object.fromEntries(
    Object.entries(shape).map(([key, schema]) => {
      const said = texts[key]
      return [key, said ? field(schema as z.ZodType, said) : schema]
    }),
  ) as Shape

/** Also of a field that was made optional, nullable or given a default afterwards. */
export function fieldTexts(schema: z.ZodType): FieldTexts {
  const own = FIELD_TEXTS.get(schema)
  if (own) return own
  const { innerType, in: first } = schema.def as { innerType?: z.ZodType; in?: z.ZodType }
  const inner = innerType ?? first
  return inner ? fieldTexts(inner) : {}
}
