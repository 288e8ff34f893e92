/** A new database: created here, or an existing Postgres attached. */
import { html } from 'hono/html'
import { attachDatabase, createDatabase } from '../../../contracts/databases.ts'
import type { ServiceError } from '../../../contracts/errors.ts'
import { areaField, inputField, notice, type Content } from '../../../pages/parts.ts'
import { attempt, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { page } from '../../layout.ts'
import { createRoutes, organizationOf, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { pathOf, SOURCES_PATH, type Source } from './source-labels.ts'

type Submitted = { name: string; title: string; description: string; problem?: ServiceError }

export const newDatabaseRoutes = () =>
  createRoutes()
    .get('/data-sources/new', (c) => showNew(c))
    .post('/data-sources/new', create)
    .get('/data-sources/attach', (c) => showAttach(c))
    .post('/data-sources/attach', attach)

function showNew(c: PageContext, submitted?: Submitted) {
  requireRole(c, 'developer', 'Only developers, admins and owners can create databases')
  return formPage(c, submitted, {
    title: 'New database',
    lead: `A Postgres database with pgvector for ${organizationOf(c).name}. It can be queried once it is configured, turned on and exposed.`,
    action: `${SOURCES_PATH}/new`,
    submit: 'Create database',
  })
}

function showAttach(c: PageContext, submitted?: Submitted) {
  requireRole(c, 'admin', 'Only owners and admins can attach databases')
  return formPage(c, submitted, {
    title: 'Attach Postgres',
    lead: 'An existing Postgres database with pgvector, at an address allowed by the operator of this installation.',
    action: `${SOURCES_PATH}/attach`,
    submit: 'Attach database',
    more: html`${inputField({
      name: 'url',
      label: 'Connection string',
      type: 'password',
      required: true,
      maxlength: 2_000,
      autocomplete: 'off',
      placeholder: 'postgres://user:password@host:5432/database',
      hint: 'Stored encrypted and never shown again.',
      problem: submitted?.problem,
    })}
    ${notice('info', html`<p>Use a dedicated login that can only read the tables to be searched.</p>`)}`,
  })
}

const formPage = (
  c: PageContext,
  submitted: Submitted | undefined,
  texts: { title: string; lead: string; action: string; submit: string; more?: Content },
) =>
  page(c, {
    title: texts.title,
    lead: texts.lead,
    status: statusOf(submitted?.problem),
    body: formCard(c, {
      action: texts.action,
      problem: submitted?.problem,
      shown: ['name', 'title', 'description', 'url'],
      fields: html`${inputField({
        name: 'name',
        label: 'Name',
        value: submitted?.name ?? '',
        required: true,
        maxlength: 41,
        autocomplete: 'off',
        placeholder: 'support_articles',
        hint: html`Lowercase letters, digits and <code>_</code>, starting with a letter. Becomes the ID <code>db_…</code> and cannot be changed later.`,
        problem: submitted?.problem,
      })}
      ${texts.more}
      ${inputField({
        name: 'title',
        label: 'Title',
        value: submitted?.title ?? '',
        maxlength: 120,
        autocomplete: 'off',
        hint: 'Shown to people and assistants. Defaults to the name.',
        problem: submitted?.problem,
      })}
      ${areaField({
        name: 'description',
        label: 'Description',
        value: submitted?.description ?? '',
        rows: 3,
        maxlength: 1_000,
        hint: 'What it contains. Assistants use it to choose a data source.',
        problem: submitted?.problem,
      })}`,
      submit: texts.submit,
      cancel: SOURCES_PATH,
    }),
  })

async function create(c: PageContext) {
  const submitted = readTyped(c)
  const result = await attempt(() => sessionOf(c).call(createDatabase, inputFrom(submitted)))
  if ('problem' in result) return showNew(c, { ...submitted, problem: result.problem })
  return redirectToSource(c, result.done, 'Database created.')
}

async function attach(c: PageContext) {
  const submitted = readTyped(c)
  const url = text(c.get('form'), 'url').trim()
  const result = await attempt(() => sessionOf(c).call(attachDatabase, { ...inputFrom(submitted), url }))
  if ('problem' in result) return showAttach(c, { ...submitted, problem: result.problem })
  return redirectToSource(c, result.done, 'Database attached.')
}

function readTyped(c: PageContext): Submitted {
  const fields = c.get('form')
  return {
    name: text(fields, 'name').trim(),
    title: text(fields, 'title').trim(),
    description: text(fields, 'description').trim(),
  }
}

const inputFrom = ({ name, title, description }: Submitted) => ({
  name,
  title: title || undefined,
  description: description || undefined,
})

function redirectToSource(c: PageContext, { source_id }: Pick<Source, 'source_id'>, done: string) {
  return redirectWithMessage(c, pathOf(source_id), done)
}
