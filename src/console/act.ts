/** Handlers of routes that do one operation: its input is in the address, the session and the form. */
import type * as z from 'zod'
import { notFound } from '../contracts/errors.ts'
import type { Operation } from '../contracts/operation.ts'
import { contractField, readField } from './contract-field.ts'
import { organizationOf, sessionOf, type PageContext } from './context.ts'
import { refuse, type Form, type Refused } from './fields.ts'
import { actAndReturn, redirectWithMessage } from './flash.ts'
import { attempt } from './forms.ts'

type Handler = (c: PageContext) => Promise<Response>

/** Fields of the form, read as the contract says, or by a function where they are not what it takes. */
type FromForm<I extends z.ZodObject> =
  | readonly (keyof z.input<I> & string)[]
  | ((form: FormData, c: PageContext) => Partial<z.input<I>> | Promise<Partial<z.input<I>>>)

type Act<I extends z.ZodObject, O extends z.ZodObject> = {
  input?: FromForm<I>
  back: string | ((c: PageContext) => string)
  done: string | ((output: z.output<O>, input: z.input<I>) => string)
}

/** A button: done or refused, the message is shown on the page that it leads back to. */
export const act =
  <I extends z.ZodObject, O extends z.ZodObject>(
    operation: Operation<I, O>,
    { input, back, done }: Act<I, O>,
  ): Handler =>
  async (c) => {
    const known = knownInput(c, operation)
    return actAndReturn(
      c,
      typeof back === 'string' ? back : back(c),
      ({ output, sent }) => (typeof done === 'string' ? done : done(output, sent)),
      async () => {
        const sent = { ...(await formInput(c, operation, input)), ...known } as z.input<I>
        return { output: await sessionOf(c).call(operation, sent), sent }
      },
    )
  }

type Submission<I extends z.ZodObject, O extends z.ZodObject> = {
  /** What the form has besides its fields. */
  input?: FromForm<I>
  /** The page with the form again. */
  again: (c: PageContext, refused: Refused) => Response | Promise<Response>
  done: (output: z.output<O>, c: PageContext) => readonly [path: string, message: string]
}

/** A form: done, it leads on with a message; refused, it is shown again with what was typed. */
export const submit =
  <I extends z.ZodObject, O extends z.ZodObject, K extends string>(
    form: Form<I, O, K>,
    { input, again, done }: Submission<I, O>,
  ): Handler =>
  async (c) => {
    const { operation } = form
    const known = knownInput(c, operation)
    const result = await attempt(async () => {
      const more = await formInput(c, operation, input)
      return sessionOf(c).call(operation, { ...form.read(c.get('form')), ...more, ...known })
    })
    if ('problem' in result) return again(c, refuse(c, result.problem, form))
    return redirectWithMessage(c, ...done(result.done, c))
  }

/** What the address names, by the names of the contract. One of the wrong shape is not found, like an unknown one. */
export function routeInput<I extends z.ZodObject>(
  c: PageContext,
  { input }: Pick<Operation<I>, 'input'>,
): z.input<I> {
  const named = Object.entries(input.shape).flatMap(([key, schema]) => {
    const value = c.req.param(key)
    if (value !== undefined && !(schema as z.ZodType).safeParse(value).success) throw notFound()
    return value === undefined ? [] : [[key, value]]
  })
  return Object.fromEntries(named) as z.input<I>
}

/** Never from the form: it comes from whoever sends it, and may name anything. */
const knownInput = <I extends z.ZodObject>(c: PageContext, operation: Operation<I>) => ({
  ...('org_id' in operation.input.shape && { org_id: organizationOf(c).id }),
  ...routeInput(c, operation),
})

function formInput<I extends z.ZodObject>(
  c: PageContext,
  operation: Operation<I>,
  input: FromForm<I> = [],
): Partial<z.input<I>> | Promise<Partial<z.input<I>>> {
  const form = c.get('form')
  if (typeof input === 'function') return input(form, c)
  const read = input.map((key) => [
    key,
    readField(contractField(key, operation.input.shape[key] as z.ZodType, false), form, key),
  ])
  return Object.fromEntries(read) as Partial<z.input<I>>
}
