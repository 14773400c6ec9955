// A service of gRPC without gRPC.
const codes = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  failedPrecondition: 9,
  unavailable: 14,
} as const

/** An error as gRPC has it. */
export function refusal(code: keyof typeof codes, details: string): Error {
  return Object.assign(
    new Error(`${codes[code]} ${code.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}: ${details}`),
    {
      code: codes[code],
      details,
      metadata: new Map(),
    },
  )
}

/** As where nothing listens. */
export const notConnected = () => refusal('unavailable', 'No connection established')

/** Methods as promises, each after a turn, and an error for what is not simulated, or while the server is away. */
export function service(name: string, methods: object, isAway: () => boolean): object {
  return new Proxy(methods, {
    get: (target, method) => {
      const call = Reflect.get(target, method) as ((request: unknown) => unknown) | undefined
      if (call === undefined && typeof method === 'symbol') return undefined
      return async (request: unknown) => {
        await Promise.resolve()
        if (call === undefined) throw new Error(`${name}.${String(method)} is not simulated`)
        if (isAway()) throw notConnected()
        return call(request)
      }
    },
  })
}
