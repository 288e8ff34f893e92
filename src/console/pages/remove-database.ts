/** Removing a database: a page of its own, and the name typed once more. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import { showDataSource } from '../../contracts/data-sources.ts'
import { removeDatabase } from '../../contracts/databases.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { button, inputField, linkButton, problemNotice } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { form } from '../parts.ts'
import { hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { databaseOf, pathOf, sourceIdFrom, SOURCES_PATH } from './source-words.ts'

type C = Context<ConsoleEnv>

export const removeDatabasePages = () =>
  new Hono<ConsoleEnv>()
    .get('/data-sources/:id/remove', (c) => showRemoval(c))
    .post('/data-sources/:id/remove', remove)

async function showRemoval(c: C, problem?: ServiceError) {
  organizationOf(c)
  const visit = visitOf(c)
  if (!hasRole(visit, 'admin')) throw new ServiceError('FORBIDDEN', 'Only owners and admins remove databases')
  const source = await visit.call(showDataSource, { source_id: sourceIdFrom(c) })
  const isAttached = source.kind === 'attached'
  const name = databaseOf(source)
  const path = pathOf(source.source_id)
  return page(c, {
    title: isAttached ? `Let go of ${source.name}?` : `Remove ${source.name}?`,
    status: statusOf(problem),
    body: html`<div class="card">
      <p>${
        isAttached
          ? 'The database itself stays where it is, with all its data. Its search configuration and its connection string are forgotten here.'
          : html`The database is deleted with <strong>everything in it</strong>. This cannot be undone.`
      } Nobody can ask it from that moment on; its activity stays readable.</p>
      ${problemNotice(problem, ['confirm'])}
      ${form(
        c,
        `${path}/remove`,
        html`${inputField({
          name: 'confirm',
          label: `Type ${name} to confirm`,
          required: true,
          maxlength: 60,
          autocomplete: 'off',
          problem,
        })}
        <div class="actions">${button(isAttached ? 'Let go of the database' : 'Remove the database', 'danger')} ${linkButton(path, 'Keep it', 'quiet')}</div>`,
        'stack',
      )}
    </div>`,
  })
}

async function remove(c: C) {
  const visit = visitOf(c)
  const confirm = text(c.get('form'), 'confirm').trim()
  const tried = await attempt(async () => {
    const source = await visit.call(showDataSource, { source_id: sourceIdFrom(c) })
    const name = databaseOf(source)
    if (confirm !== name) {
      throw new ServiceError('INVALID_REQUEST', 'Nothing was removed', {
        problems: [`confirm: must be ${name}, letter by letter`],
      })
    }
    await visit.call(removeDatabase, { name, confirm })
    return source
  })
  if ('problem' in tried) return showRemoval(c, tried.problem)
  leaveFlash(c, 'done', `${tried.done.name} is gone.`)
  return c.redirect(SOURCES_PATH, 303)
}
