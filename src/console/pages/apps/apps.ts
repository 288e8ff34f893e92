/** The list of apps, and creating one. */
import { html } from 'hono/html'
import { createApp, listApps } from '../../../contracts/apps.ts'
import type { ServiceError } from '../../../contracts/errors.ts'
import { inputField, selectField } from '../../../pages/parts.ts'
import { attempt, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { page } from '../../layout.ts'
import { day, emptyState, listCard } from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { appPath, APPS_PATH, partBadge } from './app-labels.ts'

type Submitted = { alias: string; name: string; problem: ServiceError }

export const appListRoutes = () =>
  createRoutes()
    .get('/apps', (c) => showApps(c))
    .post('/apps', create)

async function showApps(c: PageContext, submitted?: Submitted) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  const query = c.req.method === 'GET' ? c.req.query() : {}
  const search = query['search']?.trim().slice(0, 120) || undefined
  const mine = query['mine'] === 'true'
  const { apps, next_cursor, total } = await session.call(listApps, {
    search,
    mine: String(mine),
    cursor: query['cursor'],
    count: 'true',
  })
  const isFiltered = search !== undefined || mine || query['cursor'] !== undefined
  const mayCreate = hasRole(session, 'developer')
  return page(c, {
    title: 'Apps',
    lead: `Apps of ${organization.name}, the people who work on them, and their tickets.`,
    status: statusOf(submitted?.problem),
    body: html`${listCard(c, {
      label: 'Filter apps',
      filters: html`${inputField({ name: 'search', label: 'Alias or name', type: 'search', value: search ?? '', maxlength: 120 })}
        ${selectField({
          name: 'mine',
          label: 'Show',
          value: String(mine),
          options: [
            { value: 'false', label: 'All apps' },
            { value: 'true', label: 'Apps I build or maintain' },
          ],
        })}`,
      caption: 'Apps, by alias',
      columns: ['App', 'Your role', 'Open tickets', 'Created'],
      rows: apps.map(({ alias, name, my_role, open_tickets, created_at }) => [
        html`<div class="two-lines"><a class="subject" href="${appPath(alias)}">${name}</a><code class="note">${alias}</code></div>`,
        partBadge(my_role) ?? html`<span class="note">None</span>`,
        open_tickets === 0 ? html`<span class="note">None</span>` : html`${open_tickets}`,
        day(created_at),
      ]),
      empty: isFiltered
        ? emptyState('No matching apps', 'Try a different search.', html`<a href="${APPS_PATH}">Show all</a>`)
        : emptyState(
            'No apps yet',
            mayCreate
              ? 'An app has an alias, builders and maintainers, and tickets. Create the first one below.'
              : 'Apps created by developers are listed here.',
          ),
      next: next_cursor,
      total,
    })}
    ${mayCreate && newApp(c, submitted)}`,
  })
}

const newApp = (c: PageContext, submitted: Submitted | undefined) =>
  formCard(c, {
    title: 'New app',
    lead: 'You become its maintainer.',
    action: APPS_PATH,
    problem: submitted?.problem,
    shown: ['alias', 'name'],
    fields: html`${inputField({
      name: 'alias',
      label: 'Alias',
      value: submitted?.alias ?? '',
      required: true,
      maxlength: 40,
      autocomplete: 'off',
      hint: 'Lowercase letters, digits and hyphens. Used in URLs; cannot be changed later.',
      problem: submitted?.problem,
    })}
    ${inputField({ name: 'name', label: 'Name', value: submitted?.name ?? '', required: true, maxlength: 120, autocomplete: 'off', problem: submitted?.problem })}`,
    submit: 'Create app',
  })

async function create(c: PageContext) {
  const submitted = { alias: text(c.get('form'), 'alias').trim(), name: text(c.get('form'), 'name') }
  const result = await attempt(() => sessionOf(c).call(createApp, submitted))
  if ('problem' in result) return showApps(c, { ...submitted, problem: result.problem })
  return redirectWithMessage(c, appPath(result.done.alias), `${result.done.name} created.`)
}
