/** Upload a file: the first of the steps from a CSV to a question about it. */
import { createHash } from 'node:crypto'
import { html } from 'hono/html'
import { byteSize } from '../../../contracts/byte-size.ts'
import { listDataSources, showDataSource } from '../../../contracts/data-sources.ts'
import { createDatabase } from '../../../contracts/databases.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LOAD_FORM_BYTES, LOAD_PART_BYTES, PAGE_MAX } from '../../../contracts/limits.ts'
import { nameFromFile } from '../../../contracts/name-from-file.ts'
import { createLoad, uploadLoadPart } from '../../../contracts/loads.ts'
import { LOAD_EXTENSIONS, loadFormatOf } from '../../../contracts/load-formats.ts'
import { selectField } from '../../../pages/parts.ts'
import { createRoutes, organizationOf, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { formOf } from '../../fields.ts'
import { attempt, formCard, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { databaseOf, SOURCES_PATH, type Source } from './source-labels.ts'
import { loadPath } from './load-labels.ts'

export const LOAD_FILE_PATH = `${SOURCES_PATH}/load`

const NEW = formOf(createDatabase, ['name'], {
  name: {
    name: 'new_name',
    label: 'Name of a new database',
    hint: html`Lowercase letters, digits and <code>_</code>. Default: the name of the file.`,
    placeholder: '',
    required: false,
  },
})

type Submitted = { database: string; new_name: string; problem?: ServiceError }

export const loadFileRoutes = () =>
  createRoutes()
    .get('/data-sources/load', (c) => showForm(c))
    .post('/data-sources/load', upload)

async function showForm(c: PageContext, submitted?: Submitted) {
  requireRole(c, 'developer', 'Only developers, admins and owners can load files')
  const { data_sources } = await sessionOf(c).call(listDataSources, { limit: PAGE_MAX })
  const chosen = submitted?.database ?? c.req.query('database') ?? ''
  return page(c, {
    title: 'Load a file',
    lead: `A CSV, XLSX, JSON, NDJSON or Parquet file becomes a table that ${organizationOf(c).name} can ask. First upload it, then choose its columns.`,
    status: statusOf(submitted?.problem),
    body: formCard(c, {
      action: LOAD_FILE_PATH,
      problem: submitted?.problem,
      shown: ['file', 'database', 'name'],
      isUpload: true,
      fields: html`${fileField(submitted?.problem)}
        ${selectField({
          name: 'database',
          label: 'Into',
          value: chosen,
          options: [{ value: '', label: 'A new database' }, ...data_sources.filter(isWritable).map(asOption)],
        })}
        ${NEW.show({ now: { name: submitted?.new_name } }).all()}`,
      submit: 'Upload',
      cancel: SOURCES_PATH,
    }),
  })
}

const isWritable = ({ kind, documents, ready }: Source): boolean => kind !== 'attached' && !documents && ready
const asOption = (source: Source) => ({
  value: databaseOf(source),
  label: `${source.name} (${source.source_id})`,
})

/** Browsers take a dropped file here without a script. */
const fileField = (problem: ServiceError | undefined) => html`<div class="field">
  <label for="file">File</label>
  <input class="file-drop" type="file" id="file" name="file" required accept="${LOAD_EXTENSIONS.join(',')},text/csv"
    aria-describedby="file-about" ${problem && html`aria-invalid="true"`} />
  <div id="file-about" class="about"><p class="note">Drop it here, or choose it. With the names of the columns in the first line or row; up to ${byteSize(LOAD_FORM_BYTES)}. Larger ones: <code>svc db load</code>.</p></div>
</div>`

async function upload(c: PageContext) {
  requireRole(c, 'developer', 'Only developers, admins and owners can load files')
  const fields = c.get('form')
  const submitted = { database: text(fields, 'database'), new_name: text(fields, 'new_name').trim() }
  const file = fields.get('file')
  const named = await attempt(async () => {
    if (typeof file === 'string' || file === null || file.size === 0) {
      throw new ServiceError('INVALID_REQUEST', 'Choose a file that is not empty')
    }
    const { database, new_name } = submitted
    const name =
      database || (await createNamed(c, new_name || nameFor(file.name), new_name !== '', file.name))
    return { file, name }
  })
  if ('problem' in named) return showForm(c, { ...submitted, problem: named.problem })
  const { name } = named.done
  const uploaded = await attempt(() => uploadTo(c, named.done.file, name))
  // The database is there by now: whoever tries again does so with that one.
  if ('problem' in uploaded) return showForm(c, { database: name, new_name: '', problem: uploaded.problem })
  return c.redirect(uploaded.done, 303)
}

async function uploadTo(c: PageContext, file: File, name: string): Promise<string> {
  const { call } = sessionOf(c)
  const bytes = new Uint8Array(await file.arrayBuffer())
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const filename = file.name.replaceAll(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 200)
  // Whatever else a file is called, it may be CSV.
  const format = loadFormatOf(file.name) ?? 'csv'
  let load = await call(createLoad, { name, filename, format, bytes: bytes.length, sha256 })
  while (load.state === 'uploading' && load.received < bytes.length) {
    const body = bytes.slice(load.received, load.received + LOAD_PART_BYTES)
    load = await call(uploadLoadPart, { load_id: load.id, offset: load.received, body })
  }
  return loadPath(load)
}

/** With room for a number behind it. */
const NAME_CHARACTERS = 36

const nameFor = (filename: string): string => nameFromFile(filename, NAME_CHARACTERS) || 'file'

const NAMES_TRIED = 20

/** A name that nobody chose gives way to one that is taken. */
async function createNamed(
  c: PageContext,
  wanted: string,
  isChosen: boolean,
  filename: string,
): Promise<string> {
  for (let at = 1; ; at++) {
    const name = at === 1 ? wanted : `${wanted}_${at}`
    try {
      const title =
        filename
          .replaceAll(/[\p{Cc}\p{Cf}]/gu, '')
          .slice(0, 120)
          .trim() || name
      await sessionOf(c).call(createDatabase, { name, title })
      return name
    } catch (error) {
      if (isChosen || at === NAMES_TRIED || !(await isTaken(c, name, error))) throw error
    }
  }
}

/** There are other conflicts, a disk quota for one, that no other name avoids. */
async function isTaken(c: PageContext, name: string, error: unknown): Promise<boolean> {
  if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') return false
  const found = await attempt(() => sessionOf(c).call(showDataSource, { source_id: `db_${name}` }))
  return 'done' in found
}
