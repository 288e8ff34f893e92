/** What changed between two revisions. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { diffRevisions, listRevisions } from '../../../contracts/revisions.ts'
import { notice, selectField, type Option } from '../../../pages/parts.ts'
import { copyable, emptyState } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { appPage, readApp, type App } from './app-tabs.ts'
import { diffFiles } from './diff-files.ts'
import { findHead, noSource } from './source-head.ts'
import { sourcePath } from './source-paths.ts'
import { shortId } from './deployment-labels.ts'

type Compared = z.output<typeof diffRevisions.output>

export async function showDiff(c: PageContext) {
  const app = await readApp(c, 'source')
  const revision_id = c.req.query('revision') ?? (await findHead(c, app.alias))
  if (revision_id === undefined) return appPage(c, app, 'source', { body: noSource(app) })
  const compared = await sessionOf(c).call(diffRevisions, {
    alias: app.alias,
    revision_id,
    base: c.req.query('base') || undefined,
  })
  return appPage(c, app, 'source', {
    body: html`${await choice(c, app, revision_id, compared)}
      ${compared.truncated !== undefined && notice('info', html`<p>${compared.truncated}</p>`)}
      ${compared.files.length === 0 ? emptyState('Nothing changed', 'Both revisions have the same files.') : changes(app, revision_id, compared)}`,
  })
}

/** Of the newest revisions; any other by the address. */
async function choice(c: PageContext, app: App, revision: string, { base }: Compared) {
  const { revisions } = await sessionOf(c).call(listRevisions, { alias: app.alias })
  const options = revisions
    .filter(({ id }) => id !== revision)
    .map(({ id, pushed_by, pushed_at }) => ({
      value: id,
      label: `${id.slice(-6)}, ${pushed_by}, ${pushed_at.slice(0, 16).replace('T', ' ')} UTC`,
    }))
  return html`<div class="card card-list">
    <p>Changes in <a href="${sourcePath(app.alias, { revision })}">${shortId(revision)}</a>
      ${base === null ? 'with nothing before it' : html`since <a href="${sourcePath(app.alias, { revision: base })}">${shortId(base)}</a>`}</p>
    ${
      options.length > 0 &&
      html`<form method="get" action="${new URL(c.req.url).pathname}" class="filters" aria-label="Compare">
        <input type="hidden" name="revision" value="${revision}" />
        ${selectField({ name: 'base', label: 'Compare with', value: base ?? '', options: withBase(options, base) })}
        <div class="filters-send"><button type="submit" class="button button-quiet">Compare</button></div>
      </form>`
    }
  </div>`
}

/** The one that it is compared with stays selected, though it may be older than those of the list. */
const withBase = (options: readonly Option[], base: string | null): readonly Option[] =>
  base === null || options.some(({ value }) => value === base)
    ? options
    : [...options, { value: base, label: base.slice(-6) }]

const changes = ({ alias }: App, revision: string, { diff, files, base }: Compared) =>
  diffFiles({
    alias,
    revision,
    diff,
    files,
    rest: copyable(
      'command',
      `svc apps diff ${alias} ${revision}${base === null ? '' : ` --base ${base}`}`,
      'Command',
    ),
  })
