/** Forms of console pages: showing one, reading what was submitted, and showing it again when it was refused. */
import { html } from 'hono/html'
import { ERRORS, ServiceError } from '../contracts/errors.ts'
import { button, card, linkButton, problemNotice, type Content } from '../pages/parts.ts'
import { cancelButton, dialog } from './components.ts'
import { addressOf, sessionOf, type PageContext } from './context.ts'
import { safeNext } from './safe-next.ts'

/** A form about the organization it was shown for, whichever another tab has switched to meanwhile. */
export const form = (
  c: PageContext,
  action: string,
  body: Content,
  className?: string,
  encoding?: Encoding,
  id?: string,
) =>
  personalForm(
    c,
    action,
    [html`<input type="hidden" name="organization" value="${sessionOf(c).organization?.id ?? ''}" />`, body],
    className,
    encoding,
    id,
  )

/** Of a form with a file. */
type Encoding = 'multipart/form-data'

/** A form about the user: it keeps working when they have just lost access to the organization of the page. */
export const personalForm = (
  c: PageContext,
  action: string,
  body: Content,
  className = 'stack',
  encoding?: Encoding,
  /** For buttons elsewhere on the page that send it. */
  id?: string,
) =>
  html`<form method="post" action="${action}" class="${className}" ${encoding && html`enctype="${encoding}"`} ${id && html`id="${id}"`}>
    <input type="hidden" name="form_token" value="${sessionOf(c).formToken}" />
    ${body}
  </form>`

type FormCard = {
  title?: string
  lead?: Content
  action: string
  /** A form of an operation: its fields, unless `fields` arranges them, and their problems. */
  of?: { all: () => Content; problem: ServiceError | undefined; shown: readonly string[] }
  fields?: Content | undefined
  submit: string
  kind?: 'main' | 'quiet' | 'danger'
  /** The page that the link next to the button leads to. */
  cancel?: string
  problem?: ServiceError | undefined
  /** The fields that show their own problems. */
  shown?: readonly string[]
  className?: string
  isPersonal?: true
  /** One of its fields is a file. */
  isUpload?: true
}

/** A card with one form; why the last submission was refused is shown above it. */
export function formCard(c: PageContext, { title, lead, action, of, submit, kind, ...rest }: FormCard) {
  const { fields = of?.all(), problem = of?.problem, shown = of?.shown } = rest
  const end = rest.cancel
    ? html`<div class="actions">${button(submit, kind)} ${linkButton(rest.cancel, 'Cancel', 'quiet')}</div>`
    : button(submit, kind)
  const show = rest.isPersonal ? personalForm : form
  const body = html`${problemNotice(problem, shown)} ${show(c, action, html`${fields} ${end}`, rest.className, rest.isUpload && 'multipart/form-data')}`
  return title === undefined ? html`<div class="card">${body}</div>` : card(title, body, lead)
}

/** For forms in lists: come back to the same page of the same filtered list. */
export function backField(c: PageContext) {
  return html`<input type="hidden" name="back" value="${c.req.method === 'GET' ? addressOf(c) : ''}" />`
}

type Confirmation = {
  /** Of the dialog, where an address leads to it, or the action does not say what it is about. */
  id?: string
  label: string
  /** The label for screen readers, where several buttons on the page have the same one. */
  name?: string
  title: string
  action: string
  text: Content
  fields?: Content
  /** Left out: the label. */
  submit?: string
  kind?: 'main' | 'danger'
  isMain?: true
  key?: string
}

/** What it does, and to what: unique on a page, as its action is. */
const dialogIdOf = (action: string): string =>
  action.split('?')[0]!.split('/').slice(-2).toReversed().join('-')

/** A button that asks before it acts. */
export const confirmDialog = (
  c: PageContext,
  { label, name, title, action, text, id = dialogIdOf(action), submit = label, ...rest }: Confirmation,
) =>
  dialog(
    id,
    label,
    {
      title,
      content: form(
        c,
        action,
        html`${backField(c)}<p>${text}</p>${rest.fields}
          <div class="actions">${button(submit, rest.kind ?? 'danger')} ${cancelButton(id)}</div>`,
      ),
      hasCancel: true,
      ...(rest.isMain && { isMain: rest.isMain }),
      ...(rest.key && { key: rest.key }),
    },
    name,
  )

type DangerForm = { title: string; text: Content; fields?: Content; submit: string; kind?: 'quiet' }

/** The part of a dialog that takes something away, set apart from the rest. */
export const dangerForm = (
  c: PageContext,
  action: string,
  { title, text, fields, submit, kind }: DangerForm,
) =>
  html`<div class="window-danger">
    ${form(c, action, html`${backField(c)}${fields} <h3>${title}</h3> <p>${text}</p> ${button(submit, kind ?? 'danger')}`)}
  </div>`

/** A text field as it was typed; files and absent fields are empty. */
export function text(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value : ''
}

/** What `datetime-local` sends, read as UTC. */
export function utcMoment(submitted: string): string | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(submitted)) return undefined
  const time = new Date(`${submitted.slice(0, 16)}Z`)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

export const texts = (form: FormData, name: string): string[] =>
  form.getAll(name).filter((value) => typeof value === 'string')

/** Where a form in a list returns to: the same page of the same filtered list below `base`, else `base` itself. */
export function returnPath(c: PageContext, base: string): string {
  const path = safeNext(text(c.get('form'), 'back'), c.var.deps.appUrl)
  return path.startsWith(base) ? path : base
}

/** For forms that are shown again with what was typed: the refusal as a value. */
export async function attempt<T>(act: () => Promise<T>): Promise<{ done: T } | { problem: ServiceError }> {
  try {
    return { done: await act() }
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'UNAUTHENTICATED') return { problem: error }
    throw error
  }
}

export const statusOf = (problem: ServiceError | undefined) => (problem ? ERRORS[problem.code].status : 200)
