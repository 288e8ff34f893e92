/** A page with one form that does one call. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { Content } from '../pages/parts.ts'
import { createRoutes, organizationOf, type PageContext } from './context.ts'
import { submit } from './act.ts'
import type { Form, Refused, Shown } from './fields.ts'
import { formCard, statusOf } from './forms.ts'
import { page } from './layout.ts'
import { HOME } from './safe-next.ts'

type FormPage<I extends z.ZodObject, O extends z.ZodObject, K extends string> = {
  form: Form<I, O, K>
  /** Refuses whoever may not open it. */
  allow?: (c: PageContext) => void
  title: string
  lead: Content | ((c: PageContext) => Content)
  /** Where the order of the contract is not all there is to say. */
  fields?: (form: Shown<K>) => Content
  submit: string
  cancel: string
  /** Below the form. */
  after?: () => Content
  done: (output: z.output<O>) => readonly [path: string, message: string]
}

export function formPage<I extends z.ZodObject, O extends z.ZodObject, K extends string>(
  path: string,
  { form, allow = organizationOf, title, lead, fields, after, done, ...rest }: FormPage<I, O, K>,
) {
  const show = (c: PageContext, refused?: Refused) => {
    allow(c)
    const shown = form.show({ refused })
    return page(c, {
      title,
      lead: typeof lead === 'function' ? lead(c) : lead,
      status: statusOf(refused?.problem),
      body: html`${formCard(c, { ...rest, of: shown, fields: fields?.(shown), action: `${HOME}${path}` })} ${after?.()}`,
    })
  }
  return createRoutes()
    .get(path, (c) => show(c))
    .post(path, submit(form, { again: show, done }))
}
