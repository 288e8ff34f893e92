/** Choosing and creating organizations. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type { ServiceError } from '../../contracts/errors.ts'
import { chooseOrganization, createOrganization, listOrganizations } from '../../contracts/organizations.ts'
import { attempt, statusOf } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { badge, day, emptyState, personalForm, pager, roleBadge, table } from '../parts.ts'
import { button, inputField, linkButton, problemNotice } from '../../pages/parts.ts'
import { forgetVisit } from '../support-visit.ts'
import { text, visitOf, type ConsoleEnv } from '../visit.ts'
import { openVisits } from './support-visits.ts'

type C = Context<ConsoleEnv>

export const organizationPages = () =>
  new Hono<ConsoleEnv>()
    .post('/organization', choose)
    .get('/organizations', showOrganizations)
    .get('/organizations/new', (c) => showNew(c))
    .post('/organizations/new', create)

async function choose(c: C) {
  await visitOf(c).call(chooseOrganization, { org_id: text(c.get('form'), 'org_id') })
  forgetVisit(c)
  return c.redirect('/console', 303)
}

async function showOrganizations(c: C) {
  const visit = visitOf(c)
  const { organizations, next_cursor } = await visit.call(listOrganizations, {
    cursor: c.req.query('cursor'),
  })
  return page(c, {
    title: 'Your organizations',
    lead: 'Every page shows one of them; here you choose which.',
    actions: linkButton('/console/organizations/new', 'New organization'),
    body: html`${
      organizations.length === 0
        ? emptyState('You belong to none yet', 'Create one, or open the link of an invitation you received.')
        : html`<div class="card card-list">
            ${table(
              'Your organizations',
              ['Name', 'Your role', 'Since', '(Actions)'],
              organizations.map(({ id, name, slug, role, created_at }) => [
                html`<div class="two-lines"><strong>${name}</strong><span class="note">${slug}</span></div>`,
                roleBadge(role),
                day(created_at),
                html`<div class="row-actions">
                  ${
                    id === visit.organization?.id
                      ? badge('You are here', 'on')
                      : personalForm(
                          c,
                          '/console/organization',
                          html`<button type="submit" name="org_id" value="${id}" class="button button-quiet button-small" aria-label="Switch to ${name}">Switch</button>`,
                        )
                  }
                </div>`,
              ]),
            )}
            ${pager(c, next_cursor)}
          </div>`
    }
    ${await openVisits(c)}`,
  })
}

const showNew = (c: C, typed = '', problem?: ServiceError) =>
  page(c, {
    title: 'New organization',
    lead: 'You become its owner. You can invite others as soon as it exists.',
    status: statusOf(problem),
    body: html`<div class="card">
      ${problemNotice(problem, ['name'])}
      ${personalForm(
        c,
        '/console/organizations/new',
        html`${inputField({
          name: 'name',
          label: 'Name',
          value: typed,
          required: true,
          maxlength: 120,
          autocomplete: 'organization',
          hint: 'The name people know it by. You can change it later.',
          problem,
        })}
        ${button('Create organization')}`,
        'stack',
      )}
    </div>`,
  })

async function create(c: C) {
  const { call } = visitOf(c)
  const name = text(c.get('form'), 'name')
  const tried = await attempt(async () => {
    const made = await call(createOrganization, { name })
    await call(chooseOrganization, { org_id: made.id })
    return made
  })
  if ('problem' in tried) return showNew(c, name, tried.problem)
  forgetVisit(c)
  leaveFlash(c, 'done', `${tried.done.name} exists, and you are its owner.`)
  return c.redirect('/console', 303)
}
