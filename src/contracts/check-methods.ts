/** How a check asks an address. By itself, because the help of `svc` loads this file and no other of checks. */
export const CHECK_METHODS = ['GET', 'HEAD', 'POST'] as const
