// What a chat draws from the answer of a tool (MCP Apps, 2026-01-26). It shows, and asks for nothing but to open a page: no tool is
// called, and nothing is said to the model. What others wrote becomes text, never markup.

const { card: kind, app } = document.documentElement.dataset
const main = document.querySelector('main')
const told = document.querySelector('[role=status]')

// The host, over JSON-RPC. It may have any origin, and is told nothing that it has not brought itself.
let requests = 0
const waiting = new Map()
const send = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
const request = (method, params) =>
  new Promise((resolve, reject) => {
    requests += 1
    waiting.set(requests, { resolve, reject })
    send({ id: requests, method, params })
  })

const NOTIFICATIONS = {
  'ui/notifications/tool-result': draw,
  'ui/notifications/tool-cancelled': () => main.replaceChildren(note('The call was canceled.')),
  'ui/notifications/host-context-changed': follow,
}
const REQUESTS = ['ping', 'ui/resource-teardown']

addEventListener('message', ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== '2.0') return
  const { id, method, params, result, error } = data
  if (method === undefined) {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) asked?.resolve(result)
    else asked?.reject(new Error('refused'))
  } else if (id === undefined) {
    if (Object.hasOwn(NOTIFICATIONS, method)) NOTIFICATIONS[method](params ?? {})
  } else if (REQUESTS.includes(method)) send({ id, result: {} })
  else send({ id, error: { code: -32_601, message: 'Method not found' } })
})

// Colors and time of the host.
const place = {}
let opensLinks = true
const HOST_STYLES = /^--(?:color|font|border-radius)-[\w-]+$/
function follow({ theme, styles, locale, timeZone }) {
  const { style } = document.documentElement
  if (theme === 'light' || theme === 'dark') style.colorScheme = theme
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (HOST_STYLES.test(name) && typeof value === 'string') style.setProperty(name, value)
  }
  if (locale) place.locale = locale
  if (timeZone) place.timeZone = timeZone
}

function timeOf(iso) {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return null
  const shown = { dateStyle: 'medium', timeStyle: 'short' }
  let text
  try {
    text = at.toLocaleString(place.locale, { ...shown, timeZone: place.timeZone })
  } catch {
    text = at.toLocaleString(undefined, shown)
  }
  return element('time', { datetime: at.toISOString(), title: at.toISOString() }, text)
}

// Elements. A string becomes a text node.
function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value != null && value !== false) made.setAttribute(key, value)
  }
  made.append(...children.flat(9).filter((child) => child != null && child !== false && child !== ''))
  return made
}
const note = (...words) => element('p', { class: 'note' }, ...words)
const badge = (words, look) => element('span', { class: `badge ${look}` }, words)

/** What others wrote: what is not seen, or makes other characters stand elsewhere, is shown by its code. */
const INVISIBLE =
  /([^\P{Cc}\t]|[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|[^\P{Zs} ])/gu
const VALUE_MAX = 2000
function written(value) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  const shown = text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX).toWellFormed()}…` : text
  return shown.split(/\r?\n/).map((line, at) => [at > 0 && element('br', {}), visible(line)])
}
const visible = (line) =>
  line.split(INVISIBLE).map((part, at) => {
    if (at % 2 === 0) return part
    const code = `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`
    return element('span', { class: 'invisible', title: 'Invisible character' }, code)
  })
const paragraphs = (text) =>
  String(text)
    .split(/\n+/)
    .filter((line) => line.trim() !== '')
    .map((line) => element('p', {}, written(line)))

// Links. The host opens them; where it does not, the address is there to copy.
function addressOf(url) {
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined
  const address = new URL(url)
  const isWeb = address.protocol === 'https:' || address.protocol === 'http:'
  return isWeb && address.username === '' && address.password === '' ? address : undefined
}
function link(url, attributes, ...children) {
  const address = addressOf(url)
  if (!address) return element('span', {}, ...children)
  const { href } = address
  const made = element(
    'a',
    { ...attributes, href, target: '_blank', rel: 'noopener noreferrer nofollow' },
    ...children,
  )
  made.addEventListener('click', (event) => {
    event.preventDefault()
    if (!opensLinks) return showAddress(href)
    request('ui/open-link', { url: href }).then(
      (answer) => answer?.isError && showAddress(href),
      () => showAddress(href),
    )
  })
  return made
}
function showAddress(href) {
  told.replaceChildren('This chat opens no links. The address is ', element('code', {}, href))
}
/** Only to the installation itself: what is decided is decided there, by somebody who has signed in. */
const pageLink = (url, label, attributes = { class: 'button' }) =>
  addressOf(url)?.origin === app ? link(url, attributes, label) : null
const hostOf = (url) => {
  const address = addressOf(url)
  return address && address.origin !== app ? element('span', { class: 'host' }, written(address.host)) : null
}

const list = (value) => (Array.isArray(value) ? value : [])
const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`
const frame = (label, ...children) =>
  element('div', { class: 'frame', tabindex: '0', role: 'region', 'aria-label': label }, ...children)
const section = (title, ...children) => element('section', {}, element('h2', {}, title), ...children)
const cutNote = ({ truncated }) => typeof truncated === 'string' && note(written(truncated))

// A proposal, or a list of them.
const STATES = {
  preparing: ['Preparing', ''],
  ready: ['Needs review', 'wait'],
  approved: ['Approved', 'good'],
  deploying: ['Deploying', 'wait'],
  deployed: ['Deployed', 'good'],
  failed: ['Failed', 'bad'],
  denied: ['Denied', ''],
  stale: ['Stale', ''],
}
const stateOf = (state) =>
  badge(...(Object.hasOwn(STATES, state) ? STATES[state] : [written(String(state)), '']))
const sizeOf = ({ files, added_lines, removed_lines }) =>
  `${plural(files, 'file')}, +${added_lines} −${removed_lines}`

function proposal(answer, more) {
  if (answer.proposals) return proposalList(answer)
  const isWhole = answer.app !== undefined
  return [
    isWhole && proposalHead(answer),
    answer.rationale && section('Rationale', ...paragraphs(answer.rationale)),
    list(answer.flags).length > 0 && section('Look at', lines(answer.flags)),
    diff(answer),
    isWhole && evidence(answer, more),
    cutNote(answer),
    isWhole && decision(answer),
  ]
}

const proposalHead = (answer) =>
  element(
    'header',
    {},
    element('p', { class: 'about' }, stateOf(answer.state), ' ', written(answer.app), ' ', sizeOf(answer)),
    element('h1', {}, answer.title === null ? 'Proposal' : written(answer.title)),
    note('By ', written(answer.author ?? ''), ', ', timeOf(answer.created_at)),
  )

const proposalList = ({ proposals, next_cursor }) => [
  element('h1', {}, proposals.length === 0 ? 'No proposals' : 'Proposals'),
  element(
    'ul',
    { class: 'rows' },
    proposals.map((one) =>
      element(
        'li',
        {},
        element(
          'p',
          { class: 'about' },
          stateOf(one.state),
          ' ',
          written(one.app),
          ' ',
          sizeOf(one),
          ' ',
          timeOf(one.created_at),
        ),
        element(
          'p',
          { class: 'title' },
          pageLink(one.url, written(one.title ?? 'Proposal'), {}) ?? written(one.title ?? 'Proposal'),
        ),
      ),
    ),
  ),
  next_cursor !== undefined && note('There are more.'),
]

const lines = (all) =>
  element(
    'ul',
    {},
    all.map((line) => element('li', {}, written(line))),
  )

const DIFF_LINES = { '+': 'added', '-': 'removed', '@': 'place', ' ': 'same', '\\': 'place' }
/** Where a file is after the change; one that is removed, before it. */
const NAMED = /^(?:--- a\/|\+\+\+ b\/|rename to )(.+?)\t?$/
const WITHOUT_LINES =
  /^(?:old mode|new mode|new file mode|deleted file mode|rename from|rename to|Binary files|GIT binary patch)/
const SIGNS = { added: '+', removed: '−' }
function diff({ diff: text, note: why, next_cursor }) {
  if (typeof text !== 'string') return section('Changes', note(written(why ?? 'Not shown.')))
  const files = []
  // A further part begins inside a hunk.
  let isInHunk = !text.startsWith('diff --git ')
  if (isInHunk) files.push({ path: undefined, rows: [] })
  for (const line of text.split('\n')) {
    if (line.startsWith('diff --git ')) {
      // Both names are the same, or lines that follow say them.
      files.push({ path: line.slice(-((line.length - 'diff --git '.length - 1) / 2 - 2)), rows: [] })
      isInHunk = false
    } else if (line.startsWith('@@ ')) isInHunk = true
    const named = isInHunk ? null : NAMED.exec(line)
    if (named) files.at(-1).path = named[1]
    const look = isInHunk ? DIFF_LINES[line[0]] : WITHOUT_LINES.test(line) ? 'place' : undefined
    if (look === undefined) continue
    const shown = look === 'place' ? line : line.slice(1)
    files
      .at(-1)
      ?.rows.push(
        element(
          'tr',
          { class: look },
          element('td', { class: 'sign' }, SIGNS[look]),
          element('td', {}, written(shown)),
        ),
      )
  }
  return section(
    'Changes',
    files.map(({ path, rows }) => [
      path !== undefined && element('h3', {}, written(path)),
      frame(
        path === undefined ? 'Changes' : `Changes in ${path}`,
        element('table', { class: 'code', role: 'presentation' }, element('tbody', {}, rows)),
      ),
    ]),
    next_cursor !== undefined && note('The diff goes on. All of it is on the page of the proposal.'),
  )
}

/** The lines that the run read, where the client was sent them; else what they are called. */
function evidence({ evidence: refs }, more) {
  const read = list(more?.['svc/evidence'])
  if (list(refs).length === 0) return null
  return section(
    'Evidence',
    refs.map((ref) => {
      const found = read.find((one) => one.ref === ref)
      const heading = element('h3', {}, written(ref))
      if (!found) return heading
      const rows = String(found.text)
        .split('\n')
        .map((line) => element('tr', {}, element('td', {}, written(line))))
      return [
        heading,
        frame(
          `Lines of ${ref}`,
          element('table', { class: 'code', role: 'presentation' }, element('tbody', {}, rows)),
        ),
      ]
    }),
  )
}

/** That agents do not decide is no reason for whoever reads this. */
function decision({ decision: allowed, decided, url }) {
  const reasons = list(allowed?.reasons?.approve).filter(({ code }) => code !== 'AGENT')
  return section(
    'Decision',
    decided
      ? element('p', {}, decided.approved ? 'Approved by ' : 'Denied by ', written(decided.by), '.')
      : reasons.length === 0
        ? element('p', {}, 'It waits for your decision.')
        : [element('p', {}, 'You may not approve it:'), lines(reasons.map(({ message }) => message))],
    pageLink(url, decided ? 'Open the proposal' : 'Review and decide'),
    note('Nothing is decided here. The page asks you to sign in.'),
  )
}

// An answer: a table, each row with where it is from.
function answer({ results, weak, unavailable, truncated, count }) {
  const rows = list(results)
  const isSearch = rows.some(({ source }) => source !== undefined)
  return [
    element('h1', {}, rows.length === 0 ? 'Nothing found' : plural(rows.length, 'result')),
    weak && note('Probably none of them answers the question.'),
    rows.length > 0 && (isSearch ? searchTable(rows) : rowTable(rows)),
    typeof unavailable === 'string' && note(written(unavailable)),
    cutNote({ truncated }),
    typeof count === 'number' && count > rows.length && note(`${count} were found.`),
  ]
}

const searchTable = (rows) =>
  table(
    ['Result', 'What it says', 'Source'],
    rows.map(({ title, url, text, source, more }) => [
      [link(url, {}, written(title)), hostOf(url)],
      [
        marked(text ?? ''),
        list(more).map((one) => element('p', {}, link(one.url, {}, written(one.heading)))),
      ],
      written(source ?? ''),
    ]),
  )

/** Words of the question, which the answer marks. */
const marked = (text) =>
  String(text)
    .split(/\*\*([^*]+)\*\*/)
    .map((part, at) => (at % 2 === 0 ? written(part) : element('mark', {}, written(part))))

const COLUMNS_MAX = 6
function rowTable(rows) {
  const names = [...new Set(rows.flatMap(({ metadata }) => Object.keys(metadata ?? {})))].filter(
    (name) => !name.startsWith('_'),
  )
  const shown = names.slice(0, COLUMNS_MAX)
  return [
    table(
      ['Row', ...shown, 'As of'],
      rows.map(({ id, title, url, metadata, as_of }) => [
        [link(url, {}, written(title ?? id)), hostOf(url)],
        ...shown.map((name) => {
          const value = metadata?.[name]
          return value === undefined || value === null ? '' : written(value)
        }),
        as_of === undefined ? '' : timeOf(as_of),
      ]),
    ),
    names.length > shown.length && note('Columns left out: ', written(names.slice(COLUMNS_MAX).join(', '))),
  ]
}

/** Numbered, so that the answer can be compared with what it cites. Roles, because a narrow card shows rows as blocks. */
const table = (columns, rows) =>
  frame(
    'Results',
    element(
      'table',
      { class: 'results', role: 'table' },
      element(
        'thead',
        { role: 'rowgroup' },
        element(
          'tr',
          { role: 'row' },
          ['No.', ...columns].map((name) =>
            element('th', { role: 'columnheader', scope: 'col' }, written(name)),
          ),
        ),
      ),
      element(
        'tbody',
        { role: 'rowgroup' },
        rows.map((cells, at) =>
          element(
            'tr',
            { role: 'row' },
            element('td', { role: 'cell', class: 'number' }, `[${at + 1}]`),
            cells.map((cell, of) => element('td', { role: 'cell', 'data-label': columns[of] }, cell)),
          ),
        ),
      ),
    ),
  )

// The inbox.
const inbox = ({ notifications, unread_count, next_cursor }) => [
  element('h1', {}, unread_count === 0 ? 'Nothing unread' : `${unread_count} unread`),
  element(
    'ul',
    { class: 'rows' },
    list(notifications).map(({ type, summary, url, timestamp, read_at }) =>
      element(
        'li',
        { class: read_at === null ? 'unread' : false },
        element(
          'p',
          { class: 'about' },
          read_at === null && badge('Unread', 'wait'),
          ' ',
          written(type),
          ' ',
          timeOf(timestamp),
        ),
        element('p', { class: 'title' }, pageLink(url, written(summary), {}) ?? written(summary)),
      ),
    ),
  ),
  list(notifications).length === 0 && note('There is nothing to show.'),
  next_cursor !== undefined && note('There are more.'),
  pageLink(`${app}/console/inbox`, 'Open the inbox'),
]

const DRAWINGS = { proposal, answer, inbox }

/** Whatever cannot be drawn is shown as the text that it is. */
function draw({ content, structuredContent, isError, _meta: more }) {
  const text = String(list(content).find(({ type }) => type === 'text')?.text ?? '')
  told.replaceChildren()
  try {
    if (isError) throw new TypeError('an error has no card')
    main.replaceChildren(
      ...DRAWINGS[kind](structuredContent ?? JSON.parse(text), more)
        .flat(9)
        .filter(Boolean),
    )
  } catch {
    main.replaceChildren(element('pre', { class: isError ? 'problem' : false }, written(text)))
  }
}

// The host makes as much place as is needed. The width is its own.
new ResizeObserver(() => {
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height)
  send({ method: 'ui/notifications/size-changed', params: { height } })
}).observe(document.documentElement)

request('ui/initialize', {
  protocolVersion: '2026-01-26',
  appInfo: { name: 'svc', version: '1' },
  appCapabilities: { availableDisplayModes: ['inline'] },
}).then(
  ({ hostContext, hostCapabilities } = {}) => {
    opensLinks = hostCapabilities?.openLinks !== undefined
    follow(hostContext ?? {})
    send({ method: 'ui/notifications/initialized', params: {} })
  },
  () => main.replaceChildren(note('This chat could not show the card.')),
)
