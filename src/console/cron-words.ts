/** A schedule in words, where there are words for it; undefined: the expression has to say it. */

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const MACROS: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
}

export function cronWords(expression: string): string | undefined {
  const written = expression.trim().toLowerCase()
  const [minute = '', hour = '', day, month, weekday, ...rest] = (MACROS[written] ?? written).split(/\s+/)
  if (month !== '*' || day === undefined || weekday === undefined || rest.length > 0) return undefined
  const isDaily = day === '*' && weekday === '*'
  if (isDaily && hour === '*') return hourly(minute)
  const every = stepOf(hour)
  if (isDaily && every !== undefined && isNumber(minute, 59))
    return `Every ${every} hours at minute ${Number(minute)}`
  const at = timesOf(minute, hour)
  if (at === undefined) return undefined
  if (isDaily) return `Every day at ${at}`
  if (weekday === '*') {
    return isNumber(day, 31) && Number(day) > 0 ? `On day ${Number(day)} of every month at ${at}` : undefined
  }
  const days = day === '*' ? daysOf(weekday) : undefined
  return days && `${days} at ${at}`
}

const isNumber = (text: string, most: number): boolean => /^\d{1,2}$/.test(text) && Number(text) <= most

const stepOf = (field: string): number | undefined => {
  const step = Number(/^\*\/(\d{1,2})$/.exec(field)?.[1] ?? 0)
  return step > 1 ? step : undefined
}

function hourly(minute: string): string | undefined {
  if (minute === '*') return 'Every minute'
  const step = stepOf(minute)
  if (step !== undefined) return `Every ${step} minutes`
  return isNumber(minute, 59) ? `Every hour at minute ${Number(minute)}` : undefined
}

/** `03:00`, or several of them. */
function timesOf(minute: string, hour: string): string | undefined {
  const hours = hour.split(',')
  if (!isNumber(minute, 59) || !hours.every((one) => isNumber(one, 23))) return undefined
  return listed(hours.map((one) => `${one.padStart(2, '0')}:${minute.padStart(2, '0')}`))
}

/** Seven is Sunday, too. */
function dayOf(field: string): string | undefined {
  const at = NAMES.indexOf(field)
  if (at !== -1) return DAYS[at]
  return /^[0-7]$/.test(field) ? DAYS[Number(field) % 7] : undefined
}

function daysOf(field: string): string | undefined {
  const [from, to, ...rest] = field.split('-')
  if (to !== undefined && rest.length === 0) {
    const [first, last] = [dayOf(from!), dayOf(to)]
    return first && last && `${first} to ${last}`
  }
  const days = field.split(',').map(dayOf)
  return days.every((one) => one !== undefined) ? `Every ${listed(days)}` : undefined
}

const listed = (all: readonly string[]): string =>
  all.length === 1 ? all[0]! : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
