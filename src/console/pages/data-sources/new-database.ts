/** A new database: created here, or an existing Postgres attached. */
import { html } from 'hono/html'
import { attachDatabase, createDatabase } from '../../../contracts/databases.ts'
import { notice } from '../../../pages/parts.ts'
import { createRoutes, organizationOf, requireRole } from '../../context.ts'
import { formOf } from '../../fields.ts'
import { formPage } from '../../form-page.ts'
import { pathOf, SOURCES_PATH } from './source-labels.ts'

export const newDatabaseRoutes = () => createRoutes().route('', newPage).route('', attachPage)

const newPage = formPage('/data-sources/new', {
  form: formOf(createDatabase, ['name', 'title', 'description']),
  allow: (c) => requireRole(c, 'developer', 'Only developers, admins and owners can create databases'),
  title: 'New database',
  lead: (c) =>
    `A Postgres database with pgvector for ${organizationOf(c).name}. It can be queried once it is configured, turned on and exposed.`,
  submit: 'Create database',
  cancel: SOURCES_PATH,
  done: ({ source_id }) => [pathOf(source_id), 'Database created.'],
})

const attachPage = formPage('/data-sources/attach', {
  form: formOf(attachDatabase, ['name', 'url', 'title', 'description']),
  allow: (c) => requireRole(c, 'admin', 'Only owners and admins can attach databases'),
  title: 'Attach Postgres',
  lead: 'An existing Postgres database with pgvector, at an address allowed by the operator of this installation.',
  fields: (form) => html`${form.field('name')} ${form.field('url')}
    ${notice('info', html`<p>Use a dedicated login that can only read the tables to be searched.</p>`)}
    ${form.field('title')} ${form.field('description')}`,
  submit: 'Attach database',
  cancel: SOURCES_PATH,
  done: ({ source_id }) => [pathOf(source_id), 'Database attached.'],
})
