/** The list of apps, and making one. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import { createApp, listApps } from '../../contracts/apps.ts'
import type { ServiceError } from '../../contracts/errors.ts'
import { button, card, inputField, problemNotice, selectField } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { day, emptyState, filters, form, pager, table } from '../parts.ts'
import { hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { appPath, APPS_PATH, partBadge } from './app-words.ts'

type C = Context<ConsoleEnv>
type Typed = { alias: string; name: string; problem: ServiceError }

export const appListPages = () =>
  new Hono<ConsoleEnv>().get('/apps', (c) => showApps(c)).post('/apps', create)

async function showApps(c: C, typed?: Typed) {
  const organization = organizationOf(c)
  const visit = visitOf(c)
  const asked = c.req.method === 'GET' ? c.req.query() : {}
  const search = asked['search']?.trim().slice(0, 120) || undefined
  const mine = asked['mine'] === 'true'
  const { apps, next_cursor } = await visit.call(listApps, {
    search,
    mine: String(mine),
    cursor: asked['cursor'],
  })
  const isFiltered = search !== undefined || mine || asked['cursor'] !== undefined
  const mayMake = hasRole(visit, 'developer')
  return page(c, {
    title: 'Apps',
    lead: `What ${organization.name} builds, who keeps it, and the tickets filed on it.`,
    status: statusOf(typed?.problem),
    body: html`
      <div class="card card-list">
        ${filters(
          c,
          'Filter apps',
          html`${inputField({ name: 'search', label: 'Alias or name', type: 'search', value: search ?? '', maxlength: 120 })}
          ${selectField({
            name: 'mine',
            label: 'Which',
            value: String(mine),
            options: [
              { value: 'false', label: 'Every app' },
              { value: 'true', label: 'Those I build or maintain' },
            ],
          })}`,
        )}
        ${
          apps.length > 0
            ? table(
                'Apps, by alias',
                ['App', 'Your part', 'Open tickets', 'Since'],
                apps.map(({ alias, name, my_part, open_tickets, created_at }) => [
                  html`<div class="two-lines"><a class="subject" href="${appPath(alias)}">${name}</a><code class="note">${alias}</code></div>`,
                  partBadge(my_part) ?? html`<span class="note">none</span>`,
                  open_tickets === 0 ? html`<span class="note">none</span>` : html`${open_tickets}`,
                  day(created_at),
                ]),
              )
            : isFiltered
              ? emptyState(
                  'No app matches',
                  'Try a shorter part of the name, or every app.',
                  html`<a href="${APPS_PATH}">Show all</a>`,
                )
              : emptyState(
                  'There is no app yet',
                  mayMake
                    ? 'An app has an alias, the people who build and maintain it, and tickets. Make the first one below.'
                    : 'Developers make apps. What they make will be listed here.',
                )
        }
        ${pager(c, next_cursor)}
      </div>
      ${mayMake && newApp(c, typed)}
    `,
  })
}

const newApp = (c: C, typed: Typed | undefined) =>
  card(
    'New app',
    html`${problemNotice(typed?.problem, ['alias', 'name'])}
    ${form(
      c,
      APPS_PATH,
      html`${inputField({
        name: 'alias',
        label: 'Alias',
        value: typed?.alias ?? '',
        required: true,
        maxlength: 40,
        autocomplete: 'off',
        hint: 'Lower-case letters, digits and -. It stands in addresses and never changes.',
        problem: typed?.problem,
      })}
      ${inputField({
        name: 'name',
        label: 'Name',
        value: typed?.name ?? '',
        required: true,
        maxlength: 120,
        autocomplete: 'off',
        problem: typed?.problem,
      })}
      ${button('Make the app')}`,
      'stack',
    )}`,
    'You become its maintainer.',
  )

async function create(c: C) {
  const typed = { alias: text(c.get('form'), 'alias').trim(), name: text(c.get('form'), 'name') }
  const tried = await attempt(() => visitOf(c).call(createApp, typed))
  if ('problem' in tried) return showApps(c, { ...typed, problem: tried.problem })
  leaveFlash(c, 'done', `${tried.done.name} exists.`)
  return c.redirect(appPath(tried.done.alias), 303)
}
