import { daysAround, isSunday } from './calendar.js'

const WEEK = ['07:10', '09:40', '13:00', '18:20']
const SUNDAY = ['09:40', '18:20']

export function crossingsOn(day) {
  return daysAround(day).map((each) => ({ day: each, times: isSunday(each) ? SUNDAY : WEEK }))
}
