/** One load: choose the columns of an uploaded file, watch it, see what is wrong with it, ask the table. */
import { html } from 'hono/html'
import { setDataSourceExposure, setDataSourceState, showDataSource } from '../../../contracts/data-sources.ts'
import { notFound } from '../../../contracts/errors.ts'
import { cancelLoad, previewLoad, showLoad, startLoad, undoLoad } from '../../../contracts/loads.ts'
import type * as z from 'zod'
import { LOAD_TYPES, type LoadType } from '../../../contracts/load-formats.ts'
import { button, card, choice, inputField, linkButton, notice, selectField } from '../../../pages/parts.ts'
import { copyable, exactTime, table } from '../../components.ts'
import {
  createRoutes,
  hasRole,
  organizationOf,
  requireRole,
  sessionOf,
  type PageContext,
} from '../../context.ts'
import { routeInput } from '../../act.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { actAndReturn, redirectWithMessage, setFlash } from '../../flash.ts'
import { attempt, confirmDialog, formCard, statusOf, text, texts } from '../../forms.ts'
import { plural } from '../../format.ts'
import { page } from '../../layout.ts'
import { queryCard } from './query-form.ts'
import { askableOf, tabPath } from './source-tabs.ts'
import { loadBadge, loadPath, percentOf, phaseLabel, type ShownLoad } from './load-labels.ts'
import { LOAD_FILE_PATH } from './load-file.ts'
import {
  configurationOf,
  configureCommand,
  databaseOf,
  pathOf,
  roleAndAbove,
  sourceIdFrom,
  type Source,
} from './source-labels.ts'

type Preview = z.output<typeof previewLoad.output>
/** Of a new load: what is left empty is left out. */
const PLAN = formOf(
  { ...startLoad, idempotent: false },
  ['table', 'id_column', 'title_column', 'append', 'upsert', 'delete_missing', 'replace', 'dry_run'],
  { table: { required: true } },
)

export const loadRoutes = () =>
  createRoutes()
    .get('/data-sources/:source_id/loads/:load_id', (c) => show(c))
    .post('/data-sources/:source_id/loads/:load_id', start)
    .get('/data-sources/:source_id/loads/:load_id/progress', readProgress)
    .post('/data-sources/:source_id/loads/:load_id/expose', expose)
    .post('/data-sources/:source_id/loads/:load_id/cancel', cancel)
    .post('/data-sources/:source_id/loads/:load_id/undo', undo)

/** One of another database is not found, like an unknown one. */
async function readLoad(c: PageContext): Promise<ShownLoad> {
  const load = await sessionOf(c).call(showLoad, routeInput(c, showLoad))
  if (load.source_id !== sourceIdFrom(c)) throw notFound()
  return load
}

async function show(c: PageContext, refused?: Refused) {
  organizationOf(c)
  requireRole(c, 'developer', 'Only developers, admins and owners can load files')
  const [load, source] = await Promise.all([
    readLoad(c),
    sessionOf(c).call(showDataSource, { source_id: sourceIdFrom(c) }),
  ])
  // A sync of files has its place beside what it is for.
  if (load.format === 'documents') return c.redirect(tabPath(load.source_id, 'documents'), 302)
  const isUploaded = load.state === 'uploading' && load.received === load.bytes
  return page(c, {
    title: load.filename || 'Load',
    parents: [{ href: pathOf(source.source_id), label: source.name }],
    lead: html`${loadBadge(load)} into <code>${source.source_id}</code>${load.table && html`, table <code>${load.table}</code>`}`,
    status: statusOf(refused?.problem),
    body: html`${isUploaded ? await columnsCard(c, load, source, refused) : null}
      ${load.state === 'uploading' && !isUploaded ? unfinishedUpload(load) : null}
      ${load.state === 'running' ? progressCard(c, load) : null} ${load.state === 'failed' ? failureCard(load) : null}
      ${load.state === 'canceled' ? card('Canceled', html`<p>Nothing was loaded. <a href="${LOAD_FILE_PATH}">Load another file</a></p>`) : null}
      ${['failed', 'canceled'].includes(load.state) ? exposedWithoutTables(source) : null}
      ${load.state === 'succeeded' ? doneCards(c, load, source) : null}`,
  })
}

/** Exposed when the load began, it would show whatever is configured next. */
const exposedWithoutTables = (source: Source) =>
  source.exposed &&
  configurationOf(source) === null &&
  notice(
    'info',
    html`<p>${source.name} is exposed to ${roleAndAbove(source.minimum_role)}, and has nothing to search yet. You can <a href="${tabPath(source.source_id, 'access')}">hide it</a> until a file is loaded.</p>`,
  )

const unfinishedUpload = (load: ShownLoad) =>
  card(
    'The upload is not complete',
    html`<p>${load.received} of ${load.bytes} bytes arrived. <a href="${LOAD_FILE_PATH}?database=${databaseOf(load)}">Upload the same file again</a>: it goes on from there.</p>`,
  )

async function columnsCard(c: PageContext, load: ShownLoad, source: Source, refused: Refused | undefined) {
  const sheet = refused ? text(refused.form, 'sheet') : c.req.query('sheet')
  const delimiter = refused ? text(refused.form, 'delimiter') : (c.req.query('delimiter') ?? '')
  const isDelimiter = previewLoad.input.shape.delimiter.safeParse(delimiterIn(delimiter)).success
  const preview = await sessionOf(c).call(previewLoad, {
    load_id: load.id,
    sheet: sheet || undefined,
    delimiter: isDelimiter ? delimiterIn(delimiter) : undefined,
  })
  const delimiters = load.format === 'csv' && delimiterCard(load, delimiter, isDelimiter)
  if (preview.columns.length === 0) {
    return html`${failureCard({ ...load, problems: preview.problems, failure: null })} ${delimiters}`
  }
  const plan = PLAN.show({ now: preview.suggestion, refused })
  const embedded = refused ? texts(refused.form, 'embed_columns') : preview.suggestion.embed_columns
  // What is configured already is not for the same click to expose.
  const mayExpose = hasRole(sessionOf(c), 'admin') && !source.exposed && configurationOf(source) === null
  const columns = preview.columns.map(({ name, header }) => ({
    value: name,
    label: name === header ? name : `${header} (${name})`,
  }))
  return html`${formCard(c, {
    title: 'Choose columns',
    lead: 'The text of some columns is embedded, so that questions find rows by what they mean. Without any, rows are found by words and filters only.',
    action: loadPath(load),
    of: plan,
    fields: html`${preview.sheet !== null && html`<input type="hidden" name="sheet" value="${preview.sheet}" />`}
      ${isDelimiter && delimiter !== '' && html`<input type="hidden" name="delimiter" value="${delimiter}" />`}<fieldset>
        <legend>Search in</legend>
        <div class="choice-grid">${columns.map(({ value, label }) => choice('checkbox', 'embed_columns', value, embedded.includes(value), label))}</div>
      </fieldset>
      <div class="question-parts">
        ${plan.field('title_column', { options: columns })}
        ${plan.field('id_column', { options: [{ value: '', label: 'Number of the row' }, ...columns] })}
        ${plan.field('table')}
      </div>
      <fieldset>
        <legend>Types</legend>
        <div class="question-parts">${preview.columns.map((column) => typeField(column, refused))}</div>
      </fieldset>
      <div class="choice-grid">
        ${plan.field('append')} ${plan.field('upsert')} ${plan.field('delete_missing')} ${plan.field('replace')}
        ${plan.field('dry_run')}
        ${mayExpose && choice('checkbox', 'expose', 'true', refused === undefined || mayExposeIn(refused.form), `Let ${roleAndAbove(source.minimum_role)} ask ${source.name}`, 'Turns it on as a data source and exposes it.')}
      </div>`,
    submit: 'Load',
  })}
  ${sheetsCard(load, preview)} ${delimiters} ${previewCard(preview)}`
}

/** A tab has a name, since nobody can type one. */
const delimiterIn = (written: string): string | undefined =>
  written === '' ? undefined : written.toLowerCase() === 'tab' ? '\t' : written

/** Not a form of ours: it changes nothing, and shows the file as it would be read. */
const delimiterCard = (load: ShownLoad, written: string, isDelimiter: boolean) =>
  card(
    'Delimiter',
    html`<form method="get" action="${loadPath(load)}" class="stack">
      ${inputField({
        name: 'delimiter',
        label: 'Between two values',
        value: written,
        options: [',', ';', 'tab', '|'],
        hint: isDelimiter
          ? 'One character, or tab. Empty: as the file itself shows.'
          : 'It must be one character of ASCII, and no quote.',
      })}
      ${button('Read it again', 'quiet')}
    </form>`,
  )

const TYPE_PREFIX = 'type_'

/** What the first rows show is chosen by nobody yet: all of them must fit. */
const typeField = ({ name, header, type, note }: Preview['columns'][number], refused: Refused | undefined) =>
  type &&
  selectField({
    name: TYPE_PREFIX + name,
    label: header,
    value: refused ? text(refused.form, TYPE_PREFIX + name) : '',
    hint: note ?? undefined,
    options: [
      { value: '', label: `Recognized: ${type}` },
      ...Object.entries(LOAD_TYPES).map(([value, example]) => ({ value, label: `${value} (${example})` })),
    ],
  })

const isType = (value: string): value is LoadType => Object.hasOwn(LOAD_TYPES, value)

const typesIn = (form: FormData): Record<string, LoadType> =>
  Object.fromEntries(
    [...form.keys()].flatMap((key) => {
      const type = text(form, key)
      return key.startsWith(TYPE_PREFIX) && isType(type) ? [[key.slice(TYPE_PREFIX.length), type]] : []
    }),
  )

const sheetsCard = (load: ShownLoad, { sheets, sheet }: Preview) =>
  sheets.length > 1 &&
  card(
    'Sheets',
    html`<ul>${sheets.map((name) => html`<li>${name === sheet ? html`<strong>${name}</strong>` : html`<a href="${loadPath(load)}?${new URLSearchParams({ sheet: name })}">${name}</a>`}</li>`)}</ul>`,
    'One of them is loaded.',
  )

const previewCard = ({ columns, rows, problems }: Preview) =>
  card(
    'First rows',
    html`${problems.length > 0 && notice('problem', html`<p><strong>The file has problems and cannot be loaded like this.</strong></p><ul>${problems.map((problem) => html`<li>${problem}</li>`)}</ul>`)}
      ${table(
        'The first rows of the file',
        columns.map(({ header }) => header),
        rows,
      )}`,
  )

/** The script asks until something has changed, and shows the page anew. */
export const progressCard = (c: PageContext, load: ShownLoad) => {
  const percent = percentOf(load)
  return card(
    load.waits_for === null ? phaseLabel(load) : 'Waiting',
    html`<p role="status">${
      load.waits_for === null
        ? html`${percent} %${load.phase === 'embedding' && html`: ${load.embedded.toLocaleString('en')} of ${plural(load.rows, load.format === 'documents' ? 'passage' : 'row')}`}`
        : html`${load.waits_for}${load.waits_until && html` It goes on ${exactTime(load.waits_until)}.`}`
    } <a href="${loadPath(load)}">Refresh</a></p>
      <progress class="load-progress" max="100" value="${percent}" aria-label="Progress">${percent} %</progress>
      <p class="note">You can leave this page: the load goes on, also after a restart. ${load.format === 'documents' ? 'Until all of it is there, questions find the version before.' : 'Nothing can be searched before all of it is there.'}</p>
      <pre class="unseen" data-live="${progressPath(load)}"></pre>
      <div class="actions">${confirmDialog(c, {
        label: 'Cancel load',
        title: 'Cancel this load?',
        action: `${loadPath(load)}/cancel`,
        text: 'What was read so far is deleted.',
      })}</div>`,
  )
}

/** Steps of five in a hundred, so that a page is not shown anew all the time. */
const keyOf = (load: ShownLoad): string =>
  [load.state, load.phase, load.waits_for === null ? '' : 'waiting', Math.floor(percentOf(load) / 5)].join(
    ' ',
  )

const progressPath = (load: ShownLoad): string =>
  `${loadPath(load)}/progress?${new URLSearchParams({ at: keyOf(load) })}`

async function readProgress(c: PageContext) {
  const load = await readLoad(c)
  return c.json({ text: '', more: progressPath(load), ended: keyOf(load) !== c.req.query('at') })
}

const failureCard = (load: Pick<ShownLoad, 'failure' | 'problems' | 'problem_count' | 'source_id'>) =>
  card(
    load.problems.length > 0 ? 'Problems of the file' : 'It failed',
    html`<p>${load.failure ?? 'The file cannot be loaded.'}</p>
      ${load.problems.length > 0 && html`<ul class="load-problems">${load.problems.map((problem) => html`<li>${problem}</li>`)}</ul>`}
      ${load.problem_count > load.problems.length && html`<p>And ${(load.problem_count - load.problems.length).toLocaleString('en')} more.</p>`}
      <div class="actions">${linkButton(`${LOAD_FILE_PATH}?database=${databaseOf(load)}`, 'Upload it again')}</div>`,
  )

function doneCards(c: PageContext, load: ShownLoad, source: Source) {
  const mayAsk = source.exposed && hasRole(sessionOf(c), source.minimum_role)
  if (load.dry_run) {
    return card(
      'What would change',
      html`<p>${changesOf(load)} in table <code>${load.table}</code>. Nothing was changed.</p>
      <div class="actions">${linkButton(`${LOAD_FILE_PATH}?database=${databaseOf(load)}`, 'Load it')}</div>`,
    )
  }
  return html`${notice('done', html`<p><strong>${plural(load.rows, 'row')} loaded</strong>${load.table !== null && html` into table <code>${load.table}</code>`}${load.changes && html`: ${changesOf(load)}`}.</p>`)} ${undoCard(c, load)}
    ${load.long_rows && notice('info', html`<p>${plural(load.long_rows, 'row')} of the file: the text is longer than the model reads, so it was divided into passages. Each of them finds its row.</p>`)}
    ${load.failure && notice('problem', html`<p>${load.failure}</p>`)}
    ${
      load.configuration_saved
        ? mayAsk
          ? queryCard(c, askableOf(source), undefined)
          : exposeCard(c, load, source)
        : load.configuration &&
          card(
            'Search configuration',
            html`<p>Save it to search the table:</p>${copyable('configure', configureCommand(c, source.source_id, load.configuration), 'Command that saves the search configuration')}`,
          )
    }`
}

function exposeCard(c: PageContext, load: ShownLoad, source: Source) {
  const people = roleAndAbove(source.minimum_role)
  if (source.exposed) return card(`Only ${people} can ask it`, html`<p>Your role is below that.</p>`)
  if (!hasRole(sessionOf(c), 'admin')) {
    return card(
      'Nobody can ask it yet',
      html`<p>An owner or admin turns it on and exposes it on <a href="${tabPath(source.source_id, 'access')}">its page</a>.</p>`,
    )
  }
  const tables = askableOf(source).targets
  return formCard(c, {
    title: 'Nobody can ask it yet',
    lead: html`${source.name} is ${source.enabled ? 'not exposed' : 'off'}. Exposed, all of its search can be asked by ${people}: ${tables.map((label, at) => html`${at > 0 && ', '}<code>${label}</code>`)}.`,
    action: `${loadPath(load)}/expose`,
    fields: null,
    submit: `Let ${people} ask it`,
  })
}

async function start(c: PageContext) {
  requireRole(c, 'developer', 'Only developers, admins and owners can load files')
  const load = await readLoad(c)
  const { call } = sessionOf(c)
  const result = await attempt(async () => {
    // Read before the load can have saved anything.
    const source = await call(showDataSource, { source_id: load.source_id })
    await call(startLoad, {
      ...PLAN.read(c.get('form')),
      load_id: load.id,
      embed_columns: texts(c.get('form'), 'embed_columns'),
      sheet: text(c.get('form'), 'sheet') || undefined,
      delimiter: delimiterIn(text(c.get('form'), 'delimiter')),
      types: typesIn(c.get('form')),
      save_configuration: true,
    })
    return source
  })
  if ('problem' in result) return show(c, refuse(c, result.problem))
  // With tables that were configured meanwhile, the page asks again when the load is done.
  if (mayExposeIn(c.get('form')) && configurationOf(result.done) === null) {
    const exposed = await attempt(() => exposeSource(c, result.done))
    // The load runs all the same.
    if ('problem' in exposed)
      setFlash(c, 'problem', `${load.source_id} was not exposed: ${exposed.problem.message}`)
  }
  return c.redirect(loadPath(load), 303)
}

async function expose(c: PageContext) {
  const load = await readLoad(c)
  const source = await sessionOf(c).call(showDataSource, { source_id: load.source_id })
  return actAndReturn(c, loadPath(load), `Exposed to ${roleAndAbove(source.minimum_role)}.`, () =>
    exposeSource(c, source),
  )
}

const mayExposeIn = (form: FormData): boolean => text(form, 'expose') === 'true'

/** With the person's own rights. */
async function exposeSource(c: PageContext, { source_id, exposed, enabled }: Source): Promise<void> {
  if (exposed) return
  const { call } = sessionOf(c)
  if (!enabled) await call(setDataSourceState, { source_id, enabled: true })
  await call(setDataSourceExposure, { source_id, exposed: true })
}

const changesOf = ({ changes }: ShownLoad): string =>
  changes
    ? `${changes.added.toLocaleString('en')} new, ${changes.changed.toLocaleString('en')} changed, ${changes.gone.toLocaleString('en')} gone`
    : ''

const undoCard = (c: PageContext, load: ShownLoad) =>
  load.undo_until &&
  formCard(c, {
    title: load.undone ? 'Undone' : 'Undo',
    lead: load.undone
      ? html`The table is as it was before this load. Until ${exactTime(load.undo_until)} you can bring the load back.`
      : html`Until ${exactTime(load.undo_until)} you can bring back what the table was before.`,
    action: `${loadPath(load)}/undo`,
    fields: html`<input type="hidden" name="undone" value="${String(!load.undone)}" />`,
    submit: load.undone ? 'Bring the load back' : 'Undo this load',
  })

async function undo(c: PageContext) {
  const load = await readLoad(c)
  const undone = text(c.get('form'), 'undone') === 'true'
  return actAndReturn(c, loadPath(load), undone ? 'Load undone.' : 'Load brought back.', () =>
    sessionOf(c).call(undoLoad, { load_id: load.id, undone }),
  )
}

async function cancel(c: PageContext) {
  const load = await readLoad(c)
  await sessionOf(c).call(cancelLoad, { load_id: load.id })
  return redirectWithMessage(c, pathOf(load.source_id), 'Load canceled.')
}
