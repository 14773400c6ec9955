// A service of gRPC without gRPC.
const codes = { invalidArgument: 3, notFound: 5, alreadyExists: 6, failedPrecondition: 9 } as const

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

/** Methods as promises, each once the server answers, after a turn at least, and an error for what is not simulated. */
export function service(name: string, methods: object, back: () => Promise<void> | undefined): object {
  return new Proxy(methods, {
    get: (target, method) => {
      const call = Reflect.get(target, method) as ((request: unknown) => unknown) | undefined
      if (call === undefined && typeof method === 'symbol') return undefined
      return async (request: unknown) => {
        await back()
        if (call === undefined) throw new Error(`${name}.${String(method)} is not simulated`)
        return call(request)
      }
    },
  })
}
