/** What search has found, as a list of a page and as the options of the dialog. */
import { html } from 'hono/html'
import { searchTickets } from '../contracts/tickets.ts'
import type { Act } from './acts.ts'

export type Found = Act
export type FoundGroup = { readonly title: string; readonly found: readonly Found[] }

/** What is typed is also asked of lists, which take as much. */
export const QUERY_MAX_CHARACTERS = searchTickets.input.shape.search.maxLength!

/** The form of the dialog that acts are sent with; what it has besides is a button's own. */
export const ACT_FORM = 'palette-act'

const itemContent = ({ label, note }: Found) =>
  html`<span>${label}</span>${note && html`<span class="note">${note}</span>`}`

export const linkList = (groups: readonly FoundGroup[]) =>
  html`<div class="found">${groups.map(
    ({ title, found }) =>
      html`<section><h2 class="found-title">${title}</h2><ul class="found-list">${found.map((one) => html`<li>${one.sent ? actButton(one) : html`<a class="found-item" href="${one.href}">${itemContent(one)}</a>`}</li>`)}</ul></section>`,
  )}</div>`

const actButton = (one: Found, option: unknown = '') =>
  html`<button type="submit" class="found-item" form="${ACT_FORM}" formaction="${one.href}" name="${one.sent?.name}" value="${one.sent?.value}" ${option}>${itemContent(one)}</button>`

/** For the list below the field of the dialog, where the focus stays in the field. `prefix`: of ids, where there are two lists. */
export const optionList = (groups: readonly FoundGroup[], prefix = 'found') =>
  html`${groups.map(
    ({ title, found }, at) =>
      html`<div role="group" aria-labelledby="${prefix}-${at}"><div class="found-title" role="presentation" id="${prefix}-${at}">${title}</div>${found.map(
        (one, of) => {
          const option = html`role="option" id="${prefix}-${at}-${of}" aria-selected="false" tabindex="-1"`
          return one.sent
            ? actButton(one, option)
            : html`<a class="found-item" ${option} href="${one.href}">${itemContent(one)}</a>`
        },
      )}</div>`,
  )}`
