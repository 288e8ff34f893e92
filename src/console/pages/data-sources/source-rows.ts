/** Who sees which rows of a data source, and what somebody would see of it. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { previewDataSource } from '../../../contracts/data-sources.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import { button, card } from '../../../pages/parts.ts'
import { emptyState, table } from '../../components.ts'
import { hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, form } from '../../forms.ts'
import { pathOf, type Source } from './source-labels.ts'

const PREVIEW = formOf(previewDataSource, ['member_id', 'target'], {
  member_id: { label: 'Preview as' },
  target: { label: 'Table' },
})

type Rows = z.output<typeof previewDataSource.output>

/** What the form resulted in. */
export type Previewed = { readonly refused?: Refused; readonly rows?: Rows }

export async function previewRows(c: PageContext, { source_id }: Source): Promise<Previewed> {
  const submitted = c.get('form')
  const { target, ...asked } = PREVIEW.read(submitted)
  const result = await attempt(() =>
    sessionOf(c).call(previewDataSource, { source_id, ...asked, ...(target && { target }), limit: PAGE_MAX }),
  )
  return 'problem' in result
    ? { refused: refuse(c, result.problem) }
    : { refused: { form: submitted }, rows: result.done }
}

export async function rowsCard(c: PageContext, source: Source, { refused, rows }: Previewed) {
  const { support } = sessionOf(c)
  const mayPreview =
    hasRole(sessionOf(c), 'admin') && support === undefined && source.connection_config !== null
  return card(
    'Rows',
    html`<p>${
      source.access_column === null
        ? 'Whoever can query it sees every row.'
        : html`<code>${source.access_column}</code> names who sees a row: <code>user:</code> and an email address, <code>group:</code> and a name, <code>role:</code> and a role, or <code>everyone</code>.`
    }</p>
    ${
      source.access_column !== null &&
      !source.documents &&
      source.kind !== 'attached' &&
      html`<p class="note">The connection string reads past it: whoever has it sees every row.</p>`
    }
    ${mayPreview && (await previewForm(c, source, refused))}
    ${rows && seenRows(rows)}`,
  )
}

async function previewForm(c: PageContext, source: Source, refused: Refused | undefined) {
  const { members } = await sessionOf(c).call(listMembers, { org_id: organizationOf(c).id, limit: PAGE_MAX })
  const labels = source.connection_config!.embedding_configs.map(({ label }) => label)
  const shown = PREVIEW.show({ refused })
  return html`${form(
    c,
    `${pathOf(source.source_id)}/preview`,
    html`${shown.field('member_id', { suggestions: members.map(({ email }) => email) })}
      ${labels.length > 1 && shown.field('target', { options: labels.map((label) => ({ value: label, label })) })}
      ${button('Preview')}`,
    'beside',
  )}
    <p class="note">Each preview is recorded in the audit trail.</p>`
}

const seenRows = ({ member, may_query, target, rows, total }: Rows) =>
  html`${!may_query && html`<p>It is not exposed to ${member.name}, who sees none of these rows.</p>`}
  ${
    rows.length === 0
      ? emptyState(`${member.name} sees no row of ${target}`, 'As if the table were empty.')
      : html`<p>${member.name} sees ${total.toLocaleString('en')} ${total === 1 ? 'row' : 'rows'} of ${target}${total > rows.length && html`; the first ${rows.length} are listed`}.</p>
        ${table(
          `Rows that ${member.name} sees`,
          ['ID', 'Title'],
          rows.map(({ id, title }) => [html`<code class="long">${id}</code>`, title ?? '']),
        )}`
  }`
