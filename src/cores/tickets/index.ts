/** What the tickets core exports. */
export { createTicket } from './create-ticket.ts'
export { changeTicketStatus } from './change-ticket-status.ts'
export { showTicket } from './show-ticket.ts'
export { searchTickets } from './search-tickets.ts'
export { listTickets } from './list-tickets.ts'
export { replyToTicket } from './reply-to-ticket.ts'
