/** The components of every page. All text goes through `html`, which escapes it. */
import { html } from 'hono/html'
import type { ServiceError } from '../contracts/errors.ts'
import { icon } from './icons.ts'

export type Html = ReturnType<typeof html>
export type Content = Html | string | number | false | null | undefined | readonly Content[]

type FieldWords = {
  name: string
  label: string
  hint?: Content | undefined
  problem?: ServiceError | undefined
  /** For two forms of one page with a field of the same name. */
  id?: string | undefined
}

/** After a refusal the first field of the form gets the focus. */
export type InputField = FieldWords & {
  type?: 'text' | 'email' | 'password' | 'search' | 'date' | 'datetime-local' | 'number'
  value?: string | undefined
  autocomplete?: string | undefined
  required?: boolean | undefined
  minlength?: number | undefined
  maxlength?: number | undefined
  /** Of a number. */
  min?: number | undefined
  max?: number | undefined
  isWhole?: boolean | undefined
  placeholder?: string | undefined
  className?: string | undefined
  /** Suggestions; any other value is allowed too. */
  options?: readonly string[] | undefined
  /** Where the script fetches a preview of the value while typing, shown in the element `<id>-preview`. */
  preview?: string | undefined
}

export function inputField(field: InputField) {
  const { id, described, problems } = fieldParts(field)
  return html`<div class="field ${field.className}">
    <label for="${id}">${field.label}</label>
    <input
      id="${id}"
      name="${field.name}"
      type="${field.type ?? 'text'}"
      value="${field.value ?? ''}"
      ${field.type === 'number' && !field.isWhole && html`step="any"`}
      ${field.min !== undefined && html`min="${field.min}"`}
      ${field.max !== undefined && html`max="${field.max}"`}
      ${field.autocomplete && html`autocomplete="${field.autocomplete}"`}
      ${field.minlength && html`minlength="${field.minlength}"`}
      ${field.maxlength && html`maxlength="${field.maxlength}"`}
      ${field.placeholder && html`placeholder="${field.placeholder}"`}
      ${field.options && html`list="${id}-options"`}
      ${field.required && html`required`}
      ${field.preview && html`data-preview="${field.preview}" spellcheck="false" autocapitalize="none"`}
      ${problems.length > 0 && html`aria-invalid="true"`}
      ${field.problem && html`autofocus`}
      ${described.attribute}
    />
    ${field.options && html`<datalist id="${id}-options">${field.options.map((value) => html`<option value="${value}"></option>`)}</datalist>`}
    ${described.text}
  </div>`
}

type AreaField = FieldWords & {
  value?: string | undefined
  rows: number
  required?: boolean
  maxlength?: number | undefined
  placeholder?: string | undefined
}

export function areaField(field: AreaField) {
  const { id, described, problems } = fieldParts(field)
  // HTML drops a line break right after the tag: without this one, the text would lose its own.
  return html`<div class="field field-wide">
    <label for="${id}">${field.label}</label>
    <textarea
      id="${id}"
      name="${field.name}"
      rows="${field.rows}"
      ${field.maxlength && html`maxlength="${field.maxlength}"`}
      ${field.placeholder && html`placeholder="${field.placeholder}"`}
      ${field.required && html`required`}
      ${problems.length > 0 && html`aria-invalid="true"`}
      ${field.problem && html`autofocus`}
      ${described.attribute}
    >
${field.value ?? ''}</textarea>
    ${described.text}
  </div>`
}

export type Option = { value: string; label: string; disabled?: boolean }

export function selectField(field: FieldWords & { value: string; options: readonly Option[] }) {
  const { id, described } = fieldParts(field)
  return html`<div class="field">
    <label for="${id}">${field.label}</label>
    <span class="select"><select id="${id}" name="${field.name}" ${described.attribute}>
      ${field.options.map(
        ({ value, label, disabled }) =>
          html`<option value="${value}" ${value === field.value && html`selected`} ${disabled && html`disabled`}>
            ${label}
          </option>`,
      )}
    </select>${icon('down')}</span>
    ${described.text}
  </div>`
}

export const choice = (
  kind: 'checkbox' | 'radio',
  name: string,
  value: string,
  isOn: boolean,
  label: Content,
  note?: Content,
) =>
  html`<label class="choice">
    <input type="${kind}" name="${name}" value="${value}" ${isOn && html`checked`} />
    <span class="choice-text"><span>${label}</span>${note && html`<span class="note">${note}</span>`}</span>
  </label>`

function fieldParts({ id: given, name, hint, problem }: FieldWords) {
  const id = given ?? name
  const problems = problemsOf(problem, name)
  const attribute = (hint || problems.length > 0) && html`aria-describedby="${id}-about"`
  const text =
    attribute &&
    html`<div id="${id}-about" class="about">
      ${problems.map((text) => html`<p class="field-problem">${text}</p>`)} ${hint && html`<p class="note">${hint}</p>`}
    </div>`
  return { id, problems, described: { attribute, text } }
}

/** Problems of a request start with the name of their field. */
const FIELD = /^`?([a-z_]+)[^\s:`]*`?:?\s+/

const problemsOf = (error: ServiceError | undefined, name: string): string[] =>
  (error?.problems ?? [])
    .filter((text) => FIELD.exec(text)?.[1] === name)
    .map((text) => text.replace(FIELD, ''))

/** Shown above a form that was refused. Problems of fields it shows are next to the fields. */
export function problemNotice(error: ServiceError | undefined, shown: readonly string[] = []) {
  if (!error) return null
  const elsewhere = (error.problems ?? []).filter((text) => !shown.includes(FIELD.exec(text)?.[1] ?? ''))
  return notice(
    'problem',
    html`<p><strong>${error.message}</strong></p>
      ${elsewhere.length > 0 && html`<ul>${elsewhere.map((text) => html`<li>${text}</li>`)}</ul>`}
      ${error.hint && html`<p>${error.hint}</p>`}
      ${error.retryAfterSeconds && html`<p>Try again in ${formatWait(error.retryAfterSeconds)}.</p>`}`,
  )
}

function formatWait(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} seconds`
  return seconds < 90 * 60 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3600)} hours`
}

export const notice = (kind: 'done' | 'problem' | 'info', body: Content) =>
  html`<div class="notice notice-${kind}" role="${kind === 'problem' ? 'alert' : 'status'}">
    ${icon(kind === 'done' ? 'check' : 'alert')}
    <div>${body}</div>
  </div>`

export const button = (label: Content, kind: 'main' | 'quiet' | 'danger' = 'main') =>
  html`<button type="submit" class="button button-${kind}">${label}</button>`

export const linkButton = (href: string, label: Content, kind: 'main' | 'quiet' = 'main') =>
  html`<a href="${href}" class="button button-${kind}">${label}</a>`

export const card = (title: string, body: Content, lead?: Content, className?: 'card-list') =>
  html`<section class="card ${className}" aria-labelledby="${slug(title)}">
    <h2 id="${slug(title)}">${title}</h2>
    ${lead && html`<p class="lead">${lead}</p>`} ${body}
  </section>`

const slug = (title: string): string => `about-${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
