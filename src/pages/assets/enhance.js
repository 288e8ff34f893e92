// Progressive enhancement: every page works without this file.

// Times in the reader's own zone, written as the server writes those of charts and titles. Relative ones stay true while the
// page is open; exact ones and UTC are on hover.
const format = (options) => new Intl.DateTimeFormat('en-GB', options)
const exact = format({ dateStyle: 'medium', timeStyle: 'long' })
const shown = format({ dateStyle: 'medium', timeStyle: 'short' })
const onlyDay = format({ dateStyle: 'medium' })
const minute = format({ timeStyle: 'short' })
const second = format({
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const STYLES = { day: onlyDay, clock: second, minute }
const relative = new Intl.RelativeTimeFormat('en', { style: 'short' })
const UNITS = [
  ['second', 1, 60],
  ['minute', 60, 60],
  ['hour', 3600, 24],
  ['day', 86_400, 7],
]
function ago(date) {
  const seconds = Math.round((date - Date.now()) / 1000)
  for (const [unit, size, most] of UNITS) {
    const count = Math.round(seconds / size)
    if (Math.abs(count) < most) return relative.format(count, unit)
  }
  return onlyDay.format(date)
}
let moving = []
function showTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const date = new Date(time.dateTime)
    time.title = `${exact.format(date)} (${time.title})`
    const [style] = Object.keys(time.dataset).filter((name) => STYLES[name])
    time.textContent = (STYLES[style] ?? shown).format(date)
  }
  moving = document.querySelectorAll('time[data-relative]')
  tick()
}
function tick() {
  for (const time of moving) {
    const text = ago(new Date(time.dateTime))
    if (text !== time.textContent) time.textContent = text
  }
}
// As it came: what the script does to it later is no change.
const known = new Map([...document.querySelectorAll('[data-changes]')].map((part) => [part, part.innerHTML]))
showTimes(document)
setInterval(() => document.hidden || tick(), 1000)

// What a row cuts off is shown on hover.
document.addEventListener('pointerover', ({ target }) => {
  const cell = target.closest('td .cell')
  if (!cell || cell.title || cell.querySelector('dialog')) return
  const isCut = [cell, ...cell.querySelectorAll('*')].some(
    (part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0,
  )
  if (isCut) cell.title = cell.innerText
})

// In a long list beside what is shown, the one that is shown is in view.
document.querySelector('.picks [aria-current]')?.scrollIntoView({ block: 'nearest' })

// Copying. The API exists in secure contexts only; elsewhere the older command copies what is selected.
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent)
    return 'Copied'
  } catch {
    getSelection().selectAllChildren(source)
    return document.execCommand('copy') ? 'Copied' : 'Selected'
  }
}
for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    button.textContent = await copy(document.getElementById(button.dataset.copy))
    setTimeout(() => (button.textContent = 'Copy'), 2000)
  })
}

// Browsers that do not know `commandfor` yet.
if (!('commandForElement' in HTMLButtonElement.prototype)) {
  document.addEventListener('click', ({ target }) => {
    const button = target.closest('button[commandfor]')
    const dialog = button && document.getElementById(button.getAttribute('commandfor'))
    if (dialog) dialog[button.getAttribute('command') === 'close' ? 'close' : 'showModal']()
  })
}

// A link may name the dialog that it leads to.
document.getElementById(location.hash.slice(1))?.showModal?.()

// Menus close on a click elsewhere and on Escape, which returns the focus to where it came from.
const openMenus = () => document.querySelectorAll('details.menu[open]')
document.addEventListener('click', ({ target }) => {
  for (const menu of openMenus()) if (!menu.contains(target)) menu.open = false
})
document.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return
  for (const menu of openMenus()) {
    menu.open = false
    menu.querySelector('summary').focus()
  }
})

// What a pattern would match, while it is typed; without scripts the button beside it asks.
for (const field of document.querySelectorAll('[data-preview]')) {
  let soon
  field.addEventListener('input', () => {
    clearTimeout(soon)
    soon = setTimeout(async () => {
      const typed = field.value
      const query = new URLSearchParams({ pattern: typed })
      const answer = await fetch(`${field.dataset.preview}?${query}`, { redirect: 'manual' }).catch(
        () => ({}),
      )
      const said = answer.ok && (await answer.text())
      if (said && typed === field.value) document.getElementById(`${field.id}-preview`).innerHTML = said
    }, 250)
  })
}

// A second click while the first is under way would invite or create twice.
document.addEventListener('submit', ({ target }) => {
  if (target.method !== 'post') return
  // Later than now, or the clicked button's own value would not be sent.
  setTimeout(() => {
    for (const button of target.querySelectorAll('button[type=submit]')) button.disabled = true
  })
})
// Coming back with the back button shows the page as it was left.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) for (const button of document.querySelectorAll('button:disabled')) button.disabled = false
})

// Search from everywhere: Ctrl-K, or the link in the header. The focus stays in the field; arrows choose, Enter opens.
const search = document.getElementById('palette')
if (search) {
  const [field, list, status] = ['input', '.found', '[role=status]'].map((name) => search.querySelector(name))
  const options = () => [...list.querySelectorAll('[role=option]')]
  const own = search.querySelector('template').content
  let soon
  let isCurrent = false
  function choose(option) {
    for (const one of options()) one.setAttribute('aria-selected', one === option)
    if (option) field.setAttribute('aria-activedescendant', option.id)
    else field.removeAttribute('aria-activedescendant')
    option?.scrollIntoView({ block: 'nearest' })
  }
  // Never what is sent at once: Enter came for something else.
  function chooseFirst() {
    const [first] = options()
    choose(first?.href && first)
  }
  // At once: the acts and the menu, which the page brought along. What the server finds takes their place.
  function offer() {
    const words = field.value.toLowerCase().split(/\s+/)
    list.replaceChildren(own.cloneNode(true))
    const [first] = options()
    for (const [at, link] of document.querySelectorAll('.side a').entries()) {
      const option = first.cloneNode()
      option.id = `menu-${at}`
      option.href = link.href
      option.textContent = link.textContent
      list.lastElementChild.append(option)
    }
    for (const option of options()) {
      const text = option.textContent.toLowerCase()
      if (!words.every((word) => text.includes(word))) option.remove()
    }
    for (const group of list.querySelectorAll('[role=group]'))
      if (!group.querySelector('[role=option]')) group.remove()
    isCurrent = options().length > 0
    chooseFirst()
  }
  async function find() {
    const typed = field.value
    const query = new URLSearchParams({ q: typed, part: 'options' })
    const answer = await fetch(`${search.querySelector('form').action}?${query}`, {
      redirect: 'manual',
    }).catch(() => ({}))
    const found = answer.ok && (await answer.text())
    if (!found || typed !== field.value) return
    list.innerHTML = found
    isCurrent = true
    chooseFirst()
    status.textContent = `${options().length} found`
  }
  function open() {
    if (search.open) return
    field.value = ''
    offer()
    search.showModal()
    void find()
  }
  document.querySelector('[data-opens=palette]').addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    open()
  })
  document.addEventListener('keydown', (event) => {
    if (
      event.key.toLowerCase() !== 'k' ||
      !(event.ctrlKey || event.metaKey) ||
      event.altKey ||
      event.shiftKey
    )
      return
    event.preventDefault()
    open()
  })
  field.addEventListener('input', () => {
    offer()
    clearTimeout(soon)
    soon = setTimeout(find, 150)
  })
  field.addEventListener('keydown', (event) => {
    const all = options()
    const at = all.findIndex((one) => one.getAttribute('aria-selected') === 'true')
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && all.length > 0) {
      event.preventDefault()
      choose(all[(Math.max(at, step > 0 ? -1 : 0) + step + all.length) % all.length])
    }
    // Typed faster than found: the form is sent, and the search page answers.
    if (event.key === 'Enter' && isCurrent && all[at] && !event.isComposing) {
      event.preventDefault()
      all[at].click()
    }
  })
  // Beside the dialog is the dialog itself.
  search.addEventListener('click', ({ target }) => target === search && search.close())
}

// A review by keys: from change to change, and to the decision. No key decides: it opens the dialog, or goes to the button.
const keys = document.querySelector('[data-keys]')
if (keys) {
  const [turn, hunks] = [keys.lastElementChild, [...document.querySelectorAll('[data-hunk]')]]
  let isOn
  const set = (value) => {
    isOn = value
    turn.textContent = value ? 'Turn keys off' : 'Turn keys on'
  }
  // A browser may refuse to remember anything.
  const remembered = (value) => {
    try {
      if (value) localStorage.setItem('keys', value)
      return localStorage.getItem('keys')
    } catch {
      return null
    }
  }
  set(remembered() !== 'off')
  keys.hidden = false
  turn.addEventListener('click', () => {
    set(!isOn)
    remembered(isOn ? 'on' : 'off')
  })
  document.addEventListener('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
    if (!isOn || ctrlKey || metaKey || altKey || document.querySelector('dialog[open]')) return
    if (!'jkad'.includes(key) || target.closest('input, textarea, select')) return
    const step = { j: 1, k: -1 }[key]
    const at = hunks.indexOf(document.activeElement.closest('[data-hunk]'))
    const next = step
      ? hunks[at < 0 ? 0 : Math.min(Math.max(at + step, 0), hunks.length - 1)]
      : document.querySelector(`[data-key=${key}]`)
    if (key === 'a') next?.click()
    else next?.focus()
    next?.scrollIntoView({ block: step ? 'start' : 'nearest' })
  })
}

// Output that is still being written: read on from where the page ends, and show the page anew when it has ended.
for (const output of document.querySelectorAll('pre[data-live]')) {
  const lost = document.createElement('p')
  lost.className = 'note'
  lost.setAttribute('role', 'status')
  output.after(lost)
  let failures = 0
  const read = () =>
    fetch(output.dataset.live, { redirect: 'manual' })
      .then((answer) => (answer.ok ? answer.json() : undefined))
      .catch(() => undefined)
  const follow = async () => {
    const answer = await read()
    failures = answer ? 0 : failures + 1
    // Output that is still and output that nobody reads look the same: only one of them is true.
    lost.textContent = failures > 1 ? 'Not connected. Reload the page if this stays.' : ''
    if (answer) {
      const isAtEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 40
      if (answer.text) output.append(answer.text)
      // A page that stays open for days does not grow for days.
      while (output.childNodes.length > 500) output.firstChild.remove()
      output.dataset.live = answer.more
      if (isAtEnd) output.scrollTop = output.scrollHeight
      if (answer.ended) return location.reload()
    }
    setTimeout(follow, document.hidden ? 10_000 : Math.min(1000 * 2 ** failures, 10_000))
  }
  output.scrollTop = output.scrollHeight
  setTimeout(follow, 1000)
}

// A part of a page that is replaced by what it is now. What has the focus keeps it.
function replacePart(part, html) {
  const focused = part.contains(document.activeElement) && document.activeElement.href
  part.innerHTML = html
  showTimes(part)
  if (focused) [...part.querySelectorAll('a')].find(({ href }) => href === focused)?.focus()
}

// One that is asked for again while the page is open, until it contains data-final.
for (const part of document.querySelectorAll('[data-refresh]')) {
  const status = document.querySelector('[data-refresh-status]')
  const said = status?.textContent
  const isFinal = () => part.querySelector('[data-final]') !== null
  let known
  let asked = 0
  let failures = 0
  async function refresh() {
    asked += 1
    const answer = await fetch(part.dataset.refresh, { redirect: 'manual' }).catch(() => ({}))
    const found = answer.ok && (await answer.text())
    failures = found ? 0 : failures + 1
    if (status) status.textContent = failures > 1 ? 'Not connected. Reload the page if this stays.' : said
    if (found && found !== known) replacePart(part, (known = found))
    if (isFinal()) document.title = `✓ ${document.title}`
    else later()
  }
  // Whoever leaves the page open asks less, and nobody asks for a page that is not seen.
  const later = () =>
    setTimeout(
      () => (document.hidden ? later() : refresh()),
      Math.min(2000 * 2 ** failures, 10_000) + (asked < 150 ? 0 : 3000),
    )
  if (!isFinal()) later()
}

// What changes elsewhere: one stream for all tabs of an organization. A page that is not seen has none, and catches up later.
const stream = document.body.dataset.stream
if (stream && window.EventSource && window.BroadcastChannel) {
  const tabs = new BroadcastChannel(stream)
  let isDue = false
  let isAsking = false
  let hasMissed = false
  let end
  // Nothing is taken away from whoever is about to use it. Filters that are set come open.
  const isInUse = (part) =>
    part.querySelector('dialog[open], details[open]:not([data-set]), :focus:not(a, button)') ||
    [...part.querySelectorAll('input')].some(
      (one) => one.value !== one.defaultValue || one.checked !== one.defaultChecked,
    ) ||
    (!getSelection().isCollapsed && getSelection().containsNode(part, true))
  async function update() {
    if (!isDue || isAsking || document.hidden) return
    isDue = false
    isAsking = true
    const begun = Date.now()
    const answer = await fetch(location.href, { redirect: 'manual' }).catch(() => ({}))
    const text = answer.ok && (await answer.text())
    const now = text && new DOMParser().parseFromString(text, 'text/html')
    // Another tab may have gone to another organization.
    if (now && now.body.dataset.stream === stream) {
      for (const [part, html] of known) {
        const fresh = now.getElementById(part.id)?.innerHTML
        if (fresh === undefined || fresh === html || isInUse(part)) continue
        known.set(part, fresh)
        replacePart(part, fresh)
      }
    }
    // A page that takes long to make is asked for less often.
    setTimeout(
      () => {
        isAsking = false
        void update()
      },
      2000 + 50 * (Date.now() - begun),
    )
  }
  function changed(lists, mostMs = 5000) {
    const isShown = ({ dataset }) => !lists || dataset.changes.split(' ').some((one) => lists.includes(one))
    if (![...known.keys()].some(isShown)) return
    isDue = true
    // Others are told at the same moment: their pages do not all ask at once.
    setTimeout(update, Math.random() * mostMs)
  }
  function listen() {
    const source = new EventSource(stream)
    const tell = (data) => {
      tabs.postMessage(data)
      changed(data?.split(' '))
    }
    source.addEventListener('message', ({ data }) => tell(data))
    // What happened in between nobody tells.
    source.addEventListener('open', () => {
      if (hasMissed) tell()
      hasMissed = false
    })
    return new Promise((resolve) => {
      end = () => {
        source.close()
        resolve()
      }
      // At any answer but a stream the browser gives up. Another tab may then try, and this one later; not without rights.
      source.addEventListener('error', () => {
        hasMissed = true
        if (source.readyState !== EventSource.CLOSED) return
        resolve()
        const again = setTimeout(connect, 45_000 + Math.random() * 30_000)
        end = () => clearTimeout(again)
        fetch(stream, { method: 'HEAD' }).then(
          ({ status }) => status === 403 && clearTimeout(again),
          () => {},
        )
      })
    })
  }
  tabs.addEventListener('message', ({ data }) => changed(data?.split(' ')))
  function connect() {
    const asked = new AbortController()
    end = () => asked.abort()
    // While the stream passes from another tab to this one, nobody listens.
    const begun = Date.now()
    const takeOver = () => {
      hasMissed ||= Date.now() - begun > 1000
      return listen()
    }
    // Without locks, which need a secure context, each tab has its own.
    if (navigator.locks) navigator.locks.request(stream, { signal: asked.signal }, takeOver).catch(() => {})
    else void listen()
  }
  document.addEventListener('visibilitychange', () => {
    end?.()
    if (document.hidden) return
    connect()
    changed(undefined, 0)
  })
  if (!document.hidden) connect()
}

// Files that are sent: how much of them has arrived. Whatever goes wrong, the browser sends the form itself.
for (const bar of document.querySelectorAll('[data-upload-progress]')) {
  const form = bar.closest('form')
  form.addEventListener('submit', send)
  function send(event) {
    event.preventDefault()
    const request = new XMLHttpRequest()
    request.open('POST', form.action)
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      bar.hidden = false
      bar.value = total > 0 ? (100 * loaded) / total : 0
    })
    request.addEventListener('error', () => form.submit())
    request.addEventListener('load', () => {
      if (request.responseURL !== form.action) return location.assign(request.responseURL)
      document.open()
      document.write(request.responseText)
      document.close()
    })
    request.send(new FormData(form))
  }
}
