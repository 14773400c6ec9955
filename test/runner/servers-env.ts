/**
 * For servers whose clusters are small and short-lived: memory is there, and a fifth of their time would be spent on collecting it. The limit is of each
 * process, and a soft one.
 */
export const serversEnv = { GOGC: '600', GOMEMLIMIT: '1GiB' } as const
