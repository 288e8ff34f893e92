/** What an operation is on the command line: `svc …` with one call, whose answer is printed. */
import type * as z from 'zod'

export type CommandOf<I extends z.ZodObject> = {
  /** The words of the command: `apps create`. */
  readonly path: string
  /** Left out: the operation's. */
  readonly summary?: string
  /**
   * Fields that are given by their position. Left out: the names in the path of the operation, except `org_id`: the client
   * sends the organization of its login.
   */
  readonly arguments?: readonly FieldOf<I>[]
  /** Fields that are options, in the order of the help. Left out: all others; none where it always sends something. */
  readonly options?: readonly FieldOf<I>[]
  /** What it always sends: `agents block` is `blocked: true`. Names in braces are those of the input. */
  readonly always?: Partial<z.input<I>>
  /** Where none of its options is required, but one of them. */
  readonly atLeastOne?: { readonly problem: string; readonly hint: string }
  /**
   * Asked before, unless `--yes` is given. Names in braces are those of arguments, as they were typed, or of fields. What the
   * operation takes as `confirm` has to be typed.
   */
  readonly confirm?: string
  /** Said instead of an answer. */
  readonly done?: string
  /** By heading: of the answer as one row, or of its `rows`. */
  readonly table?: Shown
  /** The field of the answer that has the rows; left out, a page's. */
  readonly rows?: string
  /** By name, one a line. */
  readonly fields?: Shown
  /** Said after the answer; names in braces may be those of the answer, too. */
  readonly notes?: readonly Note[]
  /** In which the answer is printed where nobody chose; a table unless it says otherwise. */
  readonly format?: 'yaml'
  /**
   * The command that lists what the arguments name: help says that an id is from there, and so does the hint when there
   * is none. Left out: the list that the path of the operation goes on from.
   */
  readonly listedBy?: string
  readonly examples: readonly [string, ...string[]]
}

type FieldOf<I extends z.ZodObject> = string & keyof z.input<I>

/**
 * `name, user.email, SIZE=bytes:size`: what is shown, in order. A heading is the name of the field unless one stands
 * before the `=`. `pods.name` is that of each pod; `:size` is how src/cli/cells.ts writes it; `a|b` is b where a is empty;
 * `'none'` is that word; with braces in it a text. What ends in `?` is left out where it is empty. A list has several of
 * these, for texts with a comma: one that is the only one in its element.
 */
export type Shown = string | readonly string[]

/**
 * `if` names fields of the answer or the input that must be set, or not with a `!`, or be a value with `=`. `of`: once for
 * each of these. `in`: only where the answer is printed so, because the other formats say it anyway.
 */
export type Note =
  | string
  | { readonly text: string; readonly if?: string; readonly of?: string; readonly in?: 'table' }
