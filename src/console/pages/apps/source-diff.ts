/** What changed between two revisions. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { notFound } from '../../../contracts/errors.ts'
import { diffRevisions, listRevisions } from '../../../contracts/revisions.ts'
import { notice, selectField, type Option } from '../../../pages/parts.ts'
import { badge, copyable, emptyState } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { appPage, mayOpen, readApp, type App } from './app-tabs.ts'
import { findHead, noSource } from './source-head.ts'
import { readDiffLines, splitDiff, type DiffLine } from './read-diff.ts'
import { sourcePath } from './source-paths.ts'
import { codeFrame, visibleText } from './source-text.ts'
import { shortId } from './deployment-labels.ts'

type Compared = z.output<typeof diffRevisions.output>
type ChangedFile = Compared['files'][number]

/** Lines on the page; whoever wants more reads them elsewhere. */
const LINES_MAX = 5_000
const CHANGES = { added: 'Added', removed: 'Removed', changed: 'Changed' } as const

export async function showDiff(c: PageContext) {
  const app = await readApp(c)
  if (!mayOpen(sessionOf(c), app, 'source')) throw notFound()
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

function changes(app: App, revision: string, { diff, files, base }: Compared) {
  const parts = splitDiff(diff)
  let room = LINES_MAX
  return html`${files.map((file, at) => {
    const lines = readDiffLines(parts[at] ?? '')
    const shown = lines.slice(0, Math.max(room, 0))
    room -= lines.length
    return fileChanges(app, revision, file, shown, at)
  })}
  ${
    room < 0 &&
    html`<p class="note">The page ends here. All of it:</p>
      ${copyable('command', `svc apps diff ${app.alias} ${revision}${base === null ? '' : ` --base ${base}`}`, 'Command')}`
  }`
}

const fileChanges = (
  app: App,
  revision: string,
  { path, change, added_lines, removed_lines }: ChangedFile,
  lines: readonly DiffLine[],
  at: number,
) =>
  html`<section class="card card-list diff-file" aria-labelledby="file-${at}">
    <h2 id="file-${at}">${change === 'removed' ? visibleText(path) : html`<a href="${sourcePath(app.alias, { revision, path })}">${visibleText(path)}</a>`}</h2>
    <p class="note">${badge(CHANGES[change], change === 'removed' ? 'bad' : change === 'added' ? 'on' : 'off')}
      ${added_lines} added, ${removed_lines} removed</p>
    ${
      lines.length > 0 &&
      codeFrame(
        `Changes in ${path}`,
        html`<table class="code-lines" role="presentation"><tbody>${lines.map((line) => diffLine(app, revision, path, line))}</tbody></table>`,
      )
    }
  </section>`

const SIGNS = { added: '+', removed: '−', same: ' ', place: '', note: '' } as const

const diffLine = (app: App, revision: string, path: string, { kind, old, now, text }: DiffLine) =>
  html`<tr class="diff-${kind}"><td class="code-number">${old}</td><td class="code-number">${now !== null && html`<a href="${sourcePath(app.alias, { revision, path, line: now })}" aria-label="Line ${now}">${now}</a>`}</td><td class="code-sign">${SIGNS[kind]}</td><td class="code-text">${visibleText(text)}</td></tr>`
