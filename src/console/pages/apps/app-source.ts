/** The tab Source of an app: the tree of a revision, its files, its revisions, and what changed between two. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { notFound } from '../../../contracts/errors.ts'
import { listRevisions, readSourceFile, showRevision } from '../../../contracts/revisions.ts'
import { linkButton, type Content } from '../../../pages/parts.ts'
import { badge, emptyState, listCard, table, time } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { appPage, readApp, type App } from './app-tabs.ts'
import { showDiff } from './source-diff.ts'
import { findHead, noSource } from './source-head.ts'
import { folderEntries } from './source-folder.ts'
import { diffPath, PAGE_LINES, revisionsPath, sourcePath } from './source-paths.ts'
import { codeFrame, linesIn, visibleText } from './source-text.ts'
import { byteSize } from '../../../contracts/byte-size.ts'
import { shortId } from './deployment-labels.ts'

export const appSourceRoutes = () =>
  createRoutes()
    .get('/apps/:alias/source', showSource)
    .get('/apps/:alias/source/revisions', showRevisions)
    .get('/apps/:alias/source/diff', showDiff)

type Revision = z.output<typeof showRevision.output>
type File = z.output<typeof readSourceFile.output>

async function showSource(c: PageContext) {
  const app = await readApp(c, 'source')
  const asked = c.req.query('revision') ?? (await findHead(c, app.alias))
  if (asked === undefined) return appPage(c, app, 'source', { body: noSource(app) })
  const revision = await sessionOf(c).call(showRevision, { alias: app.alias, revision_id: asked })
  const path = c.req.query('path') ?? ''
  const isFile = revision.tree.some((file) => file.path === path)
  return appPage(c, app, 'source', {
    actions: revisionActions(app, revision),
    body: html`${revisionLine(app, revision)}
      ${isFile ? await fileCard(c, app, revision, path) : folderCard(app, revision, path)}`,
  })
}

const revisionActions = (app: App, { id }: Revision) =>
  html`${linkButton(revisionsPath(app.alias), 'Revisions', 'quiet')} ${linkButton(diffPath(app.alias, id), 'Changes')}`

const revisionLine = (app: App, { id, is_head, pushed_by, pushed_at, files, bytes }: Revision) =>
  html`<p class="source-revision">
    ${shortId(id)} ${is_head ? badge('Head', 'on') : html`<a href="${sourcePath(app.alias)}">Go to head</a>`}
    <span class="note">${files} ${files === 1 ? 'file' : 'files'}, ${byteSize(bytes)}, pushed by ${pushed_by} ${time(pushed_at)}</span>
  </p>`

/** The folders on the way, each a link but the last. */
const trail = (app: App, { id }: Revision, path: string) => {
  const names = path === '' ? [] : path.split('/')
  const crumbs = [{ name: app.alias, to: '' }].concat(
    names.map((name, at) => ({ name, to: names.slice(0, at + 1).join('/') })),
  )
  return html`<nav class="source-trail" aria-label="Folders">
    ${crumbs.map(({ name, to }, at) => {
      const shown = visibleText(name)
      return at === crumbs.length - 1
        ? html`<span aria-current="page">${shown}</span>`
        : html`<a href="${sourcePath(app.alias, { revision: id, path: to })}">${shown}</a> <span aria-hidden="true">/</span> `
    })}
  </nav>`
}

function folderCard(app: App, revision: Revision, folder: string) {
  const entries = folderEntries(revision.tree, folder)
  if (entries.length === 0) throw notFound()
  const rows = entries.map((entry): Content[] => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    const link = html`<a class="subject" href="${sourcePath(app.alias, { revision: revision.id, path })}">${visibleText(entry.name)}${entry.kind === 'folder' && '/'}</a>`
    return entry.kind === 'folder'
      ? [link, `${entry.files} ${entry.files === 1 ? 'file' : 'files'}`, byteSize(entry.bytes)]
      : [link, entry.executable ? 'Executable' : '', byteSize(entry.bytes)]
  })
  return html`<div class="card card-list">
    ${trail(app, revision, folder)} ${table('Files', ['Name', 'Contents', 'Size'], rows)}
  </div>`
}

async function fileCard(c: PageContext, app: App, revision: Revision, path: string) {
  const file = await sessionOf(c).call(readSourceFile, {
    alias: app.alias,
    revision_id: revision.id,
    path,
  })
  return html`<div class="card card-list">
    ${trail(app, revision, path)}
    <p class="note">${byteSize(file.bytes)}${file.executable && ', executable'}</p>
    ${fileText(c, app, revision, file)}
  </div>`
}

function fileText(c: PageContext, app: App, { id }: Revision, { path, text }: File) {
  if (text === null)
    return emptyState('Binary file', 'This file is not shown here. It is in the archive of the revision.')
  const lines = linesIn(text)
  if (lines.length === 0) return emptyState('Empty', 'This file has no contents.')
  const from = startOf(c.req.query('from'), lines.length)
  const until = Math.min(from + PAGE_LINES - 1, lines.length)
  const part = (line: number, words: string) =>
    html`<a href="${sourcePath(app.alias, { revision: id, path, line })}">${words}</a>`
  return html`${codeFrame(
    `Contents of ${path}`,
    html`<table class="code-lines" role="presentation">
        <tbody>${lines.slice(from - 1, until).map((line, at) => codeLine(from + at, line))}</tbody>
      </table>`,
  )}
    ${
      lines.length > PAGE_LINES &&
      html`<p class="source-parts">Lines ${from} to ${until} of ${lines.length}.
        ${from > 1 && part(Math.max(1, from - PAGE_LINES), 'Previous')} ${until < lines.length && part(until + 1, 'Next')}</p>`
    }`
}

const codeLine = (number: number, line: string) =>
  html`<tr id="L${number}"><td class="code-number"><a href="#L${number}" aria-label="Line ${number}">${number}</a></td><td class="code-text">${visibleText(line)}</td></tr>`

/** Of a page; whatever is not a line of the file is the first. */
function startOf(given: string | undefined, lines: number): number {
  const line = Number(given)
  return Number.isInteger(line) && line >= 1 && line <= lines ? line : 1
}

async function showRevisions(c: PageContext) {
  const app = await readApp(c, 'source')
  const { revisions, next_cursor } = await sessionOf(c).call(listRevisions, {
    alias: app.alias,
    cursor: c.req.query('cursor'),
  })
  return appPage(c, app, 'source', {
    body: listCard(c, {
      title: 'Revisions',
      caption: 'Revisions, newest first',
      columns: ['Revision', 'Files', 'Size', 'Pushed by', 'Pushed', '(Compare)'],
      rows: revisions.map((one) => [
        html`<a class="subject" href="${sourcePath(app.alias, { revision: one.id })}">${shortId(one.id)}</a> ${one.is_head && badge('Head', 'on')}`,
        one.files,
        byteSize(one.bytes),
        one.pushed_by,
        time(one.pushed_at),
        html`<a href="${diffPath(app.alias, one.id)}">Changes</a>`,
      ]),
      empty: noSource(app),
      next: next_cursor,
    }),
  })
}
