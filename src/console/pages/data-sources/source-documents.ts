/** The Documents tab: what a documents source holds, a folder or an archive to bring it to, and the version before. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { byteSize } from '../../../contracts/byte-size.ts'
import { DOCUMENT_EXTENSIONS } from '../../../contracts/document-formats.ts'
import { createDocuments, showDocuments, syncDocuments, undoDocuments } from '../../../contracts/documents.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import { DOCUMENTS_FOLDERS_SHOWN, LOAD_FORM_BYTES, LOAD_PART_BYTES } from '../../../contracts/limits.ts'
import { uploadLoadPart } from '../../../contracts/loads.ts'
import { card, choice, notice } from '../../../pages/parts.ts'
import { exactTime, pair, table } from '../../components.ts'
import { createRoutes, organizationOf, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { formOf } from '../../fields.ts'
import { redirectWithMessage } from '../../flash.ts'
import { formPage } from '../../form-page.ts'
import { attempt, confirmDialog, formCard, statusOf, text } from '../../forms.ts'
import { plural } from '../../format.ts'
import { progressCard } from './load.ts'
import { databaseOf, SOURCES_PATH, type Source } from './source-labels.ts'
import { readSource, sourceTab, tabPath } from './source-tabs.ts'
import { readUploadedFiles, type UploadedFile, type UploadedFiles } from './uploaded-files.ts'

type Status = z.output<typeof showDocuments.output>
type LeftOut = UploadedFiles['leftOut']

export const NEW_DOCUMENTS_PATH = `${SOURCES_PATH}/new-documents`

/** Where a form may be as large as an archive. */
export const isDocumentsUpload = (path: string): boolean =>
  /^\/console\/data-sources\/[^/]+\/documents$/.test(path)

export const sourceDocumentsRoutes = () =>
  createRoutes()
    .route('', newPage)
    .get('/data-sources/:source_id/documents', async (c) => show(c, await readDocumentsSource(c)))
    .post('/data-sources/:source_id/documents', upload)
    .post('/data-sources/:source_id/documents/undo', undo)

const newPage = formPage('/data-sources/new-documents', {
  form: formOf(createDocuments, ['name', 'title', 'description', 'language']),
  allow: (c) => requireRole(c, 'developer', 'Only developers, admins and owners can create data sources'),
  title: 'New documents source',
  lead: (c) =>
    `Files of ${organizationOf(c).name} that can be asked: Markdown, HTML, text, PDF and DOCX. After this you choose them.`,
  submit: 'Create',
  cancel: SOURCES_PATH,
  done: ({ source_id }) => [tabPath(source_id, 'documents'), 'Created. Now choose the files.'],
})

/** A source without documents has no such page. */
async function readDocumentsSource(c: PageContext): Promise<Source> {
  requireRole(c, 'developer', 'Only developers and above can see how a data source is set up')
  const source = await readSource(c)
  if (!source.documents) throw notFound()
  return source
}

type Result = { readonly problem?: ServiceError; readonly leftOut?: LeftOut }

async function show(c: PageContext, source: Source, { problem, leftOut = [] }: Result = {}) {
  const held = await sessionOf(c).call(showDocuments, { name: databaseOf(source) })
  return sourceTab(c, source, 'documents', {
    status: statusOf(problem),
    body: html`${leftOut.length > 0 && notice('info', html`<p><strong>${plural(leftOut.length, 'file')} left out.</strong></p>${leftOutList(leftOut)}`)}
      ${held.sync?.state === 'running' ? progressCard(c, held.sync) : null}
      ${held.sync?.state === 'failed' && notice('problem', html`<p><strong>The last sync failed.</strong> ${held.sync.failure}</p>`)}
      ${heldCard(c, source, held)} ${uploadCard(c, source, problem)}`,
  })
}

/** Of a page. */
const LEFT_OUT_SHOWN = 100

const leftOutList = (leftOut: LeftOut) =>
  html`<ul class="load-problems">${leftOut.slice(0, LEFT_OUT_SHOWN).map(({ path, reason }) => html`<li><code>${path}</code>: ${reason}</li>`)}</ul>
    ${leftOut.length > LEFT_OUT_SHOWN && html`<p>And ${(leftOut.length - LEFT_OUT_SHOWN).toLocaleString('en')} more.</p>`}`

const heldCard = (c: PageContext, source: Source, held: Status) =>
  card(
    'Documents',
    held.version === 0
      ? html`<p>There are none yet.</p>`
      : html`<dl class="pairs">
            ${pair('Version', String(held.version))} ${held.published_at && pair('Published', exactTime(held.published_at))}
            ${pair('Documents', held.documents.toLocaleString('en'))} ${pair('Passages', held.passages.toLocaleString('en'))}
          </dl>
          ${
            held.left_out_count > 0 &&
            html`<details class="more"><summary>${plural(held.left_out_count, 'file')} could not be read</summary>
              ${table(
                'Files that could not be read',
                ['File', 'Reason'],
                held.left_out.map(({ path, reason }) => [html`<code>${path}</code>`, reason]),
              )}
              ${held.left_out_count > held.left_out.length && html`<p>And ${(held.left_out_count - held.left_out.length).toLocaleString('en')} more.</p>`}</details>`
          }
          ${
            held.undo_until !== null &&
            html`<div class="actions">${confirmDialog(c, {
              id: 'undo-documents',
              label: 'Undo…',
              title: `Undo version ${held.version}?`,
              action: `${tabPath(source.source_id, 'documents')}/undo`,
              text: html`The version before it is published again. It is kept until ${exactTime(held.undo_until)}, and undoing can be undone.`,
              fields: html`<input type="hidden" name="version" value="${held.version}" />`,
              submit: 'Undo',
            })}</div>`
          }`,
  )

const uploadCard = (c: PageContext, source: Source, problem: ServiceError | undefined) =>
  formCard(c, {
    title: 'Upload',
    lead: html`Up to ${byteSize(LOAD_FORM_BYTES)} at a time. For more, or every night: <code>svc docs sync ${databaseOf(source)} &lt;folder&gt;</code>`,
    action: tabPath(source.source_id, 'documents'),
    problem,
    isUpload: true,
    fields: html`${fileField('folder', 'A folder', html`webkitdirectory`, 'With the folders in it.')}
        ${fileField('files', 'Or files, or a zip archive', html`accept=".zip,${DOCUMENT_EXTENSIONS.replaceAll(' ', '')}"`, `${DOCUMENT_EXTENSIONS}, or a .zip of them.`)}
      ${choice('checkbox', 'keep', 'true', true, 'Keep documents that are not among them', 'Otherwise they are removed; for seven days that can be undone.')}
      <progress class="load-progress" data-upload-progress hidden max="100" aria-label="Upload"></progress>`,
    submit: 'Upload',
  })

/** Browsers take what is dropped here without a script. */
const fileField = (
  name: string,
  label: string,
  attributes: unknown,
  about: string,
) => html`<div class="field">
  <label for="${name}">${label}</label>
  <input class="file-drop" type="file" id="${name}" name="${name}" multiple ${attributes} aria-describedby="${name}-about" />
  <div id="${name}-about" class="about"><p class="note">${about}</p></div>
</div>`

const filesIn = (form: FormData, name: string): File[] =>
  form.getAll(name).filter((one) => typeof one !== 'string' && (one.name !== '' || one.size > 0)) as File[]

async function upload(c: PageContext) {
  const source = await readDocumentsSource(c)
  const fields = c.get('form')
  let leftOut: LeftOut = []
  const result = await attempt(async () => {
    const { folders } = await sessionOf(c).call(showDocuments, { name: databaseOf(source) })
    // Where not all of them are named, any may be there.
    const isHeld = (folder: string) => folders.includes(folder) || folders.length === DOCUMENTS_FOLDERS_SHOWN
    const read = await readUploadedFiles(filesIn(fields, 'folder'), filesIn(fields, 'files'), isHeld)
    leftOut = read.leftOut
    if (read.files.length === 0) {
      throw new ServiceError('INVALID_REQUEST', 'There are no documents among the files', {
        hint: `Choose a folder, files or a zip archive with ${DOCUMENT_EXTENSIONS}.`,
      })
    }
    return sync(c, source, read.files, text(fields, 'keep') === 'true')
  })
  if ('problem' in result) return show(c, source, { problem: result.problem, leftOut })
  // What was left out is told once: nothing of it is kept.
  if (leftOut.length > 0) return show(c, source, { leftOut })
  return redirectWithMessage(c, tabPath(source.source_id, 'documents'), result.done)
}

async function sync(
  c: PageContext,
  source: Source,
  files: readonly UploadedFile[],
  keep: boolean,
): Promise<string> {
  const { call } = sessionOf(c)
  const begun = await call(syncDocuments, {
    name: databaseOf(source),
    files: files.map(({ path, sha256, bytes }) => ({ path, sha256, bytes })),
    keep,
  })
  if (!begun.sync) return 'Nothing has changed.'
  const byPath = new Map(files.map((file) => [file.path, file.content]))
  const content = Buffer.concat(begun.missing.flatMap((path) => byPath.get(path) ?? []))
  let load = begun.sync
  while (load.state === 'uploading' && load.received < content.length) {
    const body = new Uint8Array(content.subarray(load.received, load.received + LOAD_PART_BYTES))
    load = await call(uploadLoadPart, { load_id: load.id, offset: load.received, body })
  }
  return `Uploaded ${plural(begun.missing.length, 'file')}. They can be asked when all of them are read.`
}

async function undo(c: PageContext) {
  const source = await readDocumentsSource(c)
  const version = Number(text(c.get('form'), 'version'))
  const result = await attempt(() => sessionOf(c).call(undoDocuments, { name: databaseOf(source), version }))
  if ('problem' in result) return show(c, source, { problem: result.problem })
  return redirectWithMessage(c, tabPath(source.source_id, 'documents'), `Version ${version} was undone.`)
}
