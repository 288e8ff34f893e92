// Progressive enhancement: every page works without this file.

// Times in the reader's own zone; the UTC text stays as a tooltip.
for (const time of document.querySelectorAll('time[datetime]')) {
  const options =
    'day' in time.dataset ? { dateStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' }
  time.title = time.dateTime
  time.textContent = new Intl.DateTimeFormat(undefined, options).format(new Date(time.dateTime))
}

// Copying needs a secure context; without one the buttons stay hidden and the text can be selected.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll('button[data-copy]')) {
    button.hidden = false
    button.addEventListener('click', async () => {
      const source = document.getElementById(button.dataset.copy)
      try {
        await navigator.clipboard.writeText(source.textContent)
        button.textContent = 'Copied'
      } catch {
        getSelection().selectAllChildren(source)
        button.textContent = 'Selected'
      }
      setTimeout(() => (button.textContent = 'Copy'), 2000)
    })
  }
}

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
