/** What a pattern matches: among the events there are, and in the last seven days. There is no list to choose from. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import { previewPattern } from '../../contracts/subscriptions.ts'
import { icon } from '../../pages/icons.ts'
import { inputField } from '../../pages/parts.ts'
import type { ServiceError } from '../../contracts/errors.ts'
import { attempt } from '../attempt.ts'
import { visitOf, type ConsoleEnv } from '../visit.ts'

type C = Context<ConsoleEnv>

/** Answers the inside of the preview alone: the script puts it into the page. */
const PREVIEW_PATH = '/console/subscriptions/preview'

export const showPreview = async (c: C) => c.html(await previewOf(c, c.req.query('pattern') ?? ''))

export const patternField = (field: { id: string; value: string; problem?: ServiceError | undefined }) =>
  inputField({
    id: field.id,
    name: 'pattern',
    label: 'Event type',
    value: field.value,
    required: true,
    maxlength: 100,
    autocomplete: 'off',
    placeholder: 'application.check.*',
    hint: html`Exactly one, such as <code>deploy.failed</code>, or a beginning and a star, such as <code>application.check.*</code>.`,
    problem: field.problem,
    preview: PREVIEW_PATH,
  })

export const previewRegion = (fieldId: string, body: unknown) =>
  html`<div id="${fieldId}-preview" class="preview" aria-live="polite">${body}</div>`

export async function previewOf(c: C, typed: string) {
  const pattern = typed.trim()
  if (pattern === '') return html``
  const tried = await attempt(() => visitOf(c).call(previewPattern, { pattern }))
  if ('problem' in tried) {
    return tried.problem.code === 'INVALID_REQUEST'
      ? html`<p class="note">That is no event type yet: lower-case words with dots between them, and at most one star at the end.</p>`
      : html`<p class="note">${tried.problem.message}.</p>`
  }
  const { types, events, is_known } = tried.done
  if (!is_known && types.length === 0) {
    return html`<p class="preview-sum">${icon('alert')} <span>No event of this type is defined${events > 0 && `, though ${count(events, 'event')} came in the last 7 days`}. It can be saved, and will wait for one.</span></p>`
  }
  return html`<p class="preview-sum">${icon('check')} <span>Matches <strong>${count(types.length, 'event type')}</strong>, <strong>${count(events, 'event')}</strong> in the last 7 days.</span></p>
    <ul class="preview-types">
      ${types.map(({ type, when, events }) => html`<li><code>${breakable(type)}</code> <span class="note">${when}. ${events > 0 && html`<span class="measure">${count(events, 'event')}</span>`}</span></li>`)}
    </ul>`
}

const count = (number: number, noun: string): string => `${number} ${number === 1 ? noun : `${noun}s`}`

/** A type is one long word to a browser otherwise. */
export const breakable = (type: string) =>
  type.split('.').map((word, at) => html`${at > 0 && html`.<wbr />`}${word}`)
