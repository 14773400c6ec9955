import type { PipelinePolicy, PipelineRequest, RestError } from '@azure/core-rest-pipeline'

interface Words {
  readonly message?: unknown
  readonly target?: unknown
}

/** Bodies of refusals by their request: of the answer to a long-running operation the SDK's error keeps neither body nor target. */
const bodies = new WeakMap<PipelineRequest, string>()

/** Keeps what Azure said for `refusalWords`, as long as the error lives. */
export const keepingRefusals: PipelinePolicy = {
  name: 'joinerKeepsRefusals',
  async sendRequest(request, next) {
    const response = await next(request)
    if (response.status >= 400 && typeof response.bodyAsText === 'string') bodies.set(request, response.bodyAsText)
    return response
  },
}

/** Returns message and target of an error of ARM, or of AKS, which leaves out the field `error` around them. */
export function refusalWords(error: RestError): { readonly message: string; readonly target?: string } {
  const answer = Object(error.details ?? parsed(bodies.get(error.request as PipelineRequest))) as Words & {
    readonly error?: unknown
  }
  const { message, target } = (answer.error === undefined ? answer : Object(answer.error)) as Words
  return {
    message: typeof message === 'string' ? message : error.message,
    ...(typeof target === 'string' ? { target } : {}),
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '{}')
  } catch {
    return {}
  }
}
