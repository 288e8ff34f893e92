/** A new database: made here, or somebody's own Postgres attached. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import { attachDatabase, createDatabase } from '../../contracts/databases.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Role } from '../../contracts/roles.ts'
import {
  areaField,
  button,
  inputField,
  linkButton,
  notice,
  problemNotice,
  type Content,
} from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { form } from '../parts.ts'
import { hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { pathOf, SOURCES_PATH, type Source } from './source-words.ts'

type C = Context<ConsoleEnv>
type Typed = { name: string; title: string; description: string; problem?: ServiceError }

export const newDatabasePages = () =>
  new Hono<ConsoleEnv>()
    .get('/data-sources/new', (c) => showNew(c))
    .post('/data-sources/new', create)
    .get('/data-sources/attach', (c) => showAttach(c))
    .post('/data-sources/attach', attach)

function showNew(c: C, typed?: Typed) {
  requireRole(c, 'developer', 'Developers, admins and owners make databases')
  return formPage(c, typed, {
    title: 'New database',
    lead: `A Postgres database with pgvector for ${organizationOf(c).name}. Nobody can ask it before it is configured, switched on and exposed.`,
    action: `${SOURCES_PATH}/new`,
    send: 'Make the database',
  })
}

function showAttach(c: C, typed?: Typed) {
  requireRole(c, 'admin', 'Only owners and admins attach databases')
  return formPage(c, typed, {
    title: 'Attach a Postgres',
    lead: 'An existing Postgres with pgvector, at an address that the operator of this installation allows.',
    action: `${SOURCES_PATH}/attach`,
    send: 'Attach the database',
    more: html`${inputField({
      name: 'url',
      label: 'Connection string',
      type: 'password',
      required: true,
      maxlength: 2_000,
      autocomplete: 'off',
      placeholder: 'postgres://user:password@host:5432/database',
      hint: 'Kept sealed; nobody is ever shown it again.',
      problem: typed?.problem,
    })}
    ${notice('info', html`<p>Give it a login of its own that may only read the tables to be searched.</p>`)}`,
  })
}

function requireRole(c: C, role: Role, sentence: string): void {
  organizationOf(c)
  if (!hasRole(visitOf(c), role)) throw new ServiceError('FORBIDDEN', sentence)
}

const formPage = (
  c: C,
  typed: Typed | undefined,
  words: { title: string; lead: string; action: string; send: string; more?: Content },
) =>
  page(c, {
    title: words.title,
    lead: words.lead,
    status: statusOf(typed?.problem),
    body: html`<div class="card">
      ${problemNotice(typed?.problem, ['name', 'title', 'description', 'url'])}
      ${form(
        c,
        words.action,
        html`${inputField({
          name: 'name',
          label: 'Name',
          value: typed?.name ?? '',
          required: true,
          maxlength: 41,
          autocomplete: 'off',
          placeholder: 'support_articles',
          hint: html`Small letters, digits and <code>_</code>, a letter first. It becomes the id <code>db_…</code> and stays.`,
          problem: typed?.problem,
        })}
        ${words.more}
        ${inputField({
          name: 'title',
          label: 'Title',
          value: typed?.title ?? '',
          maxlength: 120,
          autocomplete: 'off',
          hint: 'What people and assistants read; the name unless given.',
          problem: typed?.problem,
        })}
        ${areaField({
          name: 'description',
          label: 'Description',
          value: typed?.description ?? '',
          rows: 3,
          maxlength: 1_000,
          hint: 'What can be found in it. Assistants choose by this.',
          problem: typed?.problem,
        })}
        <div class="actions">${button(words.send)} ${linkButton(SOURCES_PATH, 'Cancel', 'quiet')}</div>`,
        'stack',
      )}
    </div>`,
  })

async function create(c: C) {
  const typed = readTyped(c)
  const tried = await attempt(() => visitOf(c).call(createDatabase, inputFrom(typed)))
  if ('problem' in tried) return showNew(c, { ...typed, problem: tried.problem })
  return goTo(c, tried.done, 'The database was made.')
}

async function attach(c: C) {
  const typed = readTyped(c)
  const url = text(c.get('form'), 'url').trim()
  const tried = await attempt(() => visitOf(c).call(attachDatabase, { ...inputFrom(typed), url }))
  if ('problem' in tried) return showAttach(c, { ...typed, problem: tried.problem })
  return goTo(c, tried.done, 'The database was attached.')
}

function readTyped(c: C): Typed {
  const fields = c.get('form')
  return {
    name: text(fields, 'name').trim(),
    title: text(fields, 'title').trim(),
    description: text(fields, 'description').trim(),
  }
}

const inputFrom = ({ name, title, description }: Typed) => ({
  name,
  title: title || undefined,
  description: description || undefined,
})

function goTo(c: C, { source_id }: Source, done: string) {
  leaveFlash(c, 'done', done)
  return c.redirect(pathOf(source_id), 303)
}
