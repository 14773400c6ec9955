import type { AdmissionPolicy, AdmissionRequest, BoundPolicy } from '../../api/rules/admission.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import type { Operator } from '../../deploy/local/operator.ts'
import { ApiServer } from '../clusters/api-server.ts'

type Json = Readonly<Record<string, unknown>>

interface ApiObject extends Json {
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** What the API server says to a request. */
export interface Answer {
  readonly status: number
  /** Of a refusal. */
  readonly message?: string
  /** What `kubectl apply` prints after "Warning:". */
  readonly warnings: readonly string[]
  /** What would be stored, or why nothing is. */
  readonly body: Json
}

const policiesPath = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic'

/** A real API server with the CRDs, rights and policies of the chart. */
export class AdmissionServer {
  readonly #server: ApiServer

  private constructor(server: ApiServer) {
    this.#server = server
  }

  static async start(): Promise<AdmissionServer> {
    return new AdmissionServer(await ApiServer.start())
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }

  get operator(): Operator {
    return this.#server.operator
  }

  get cluster(): LocalCluster {
    return this.#server.cluster
  }

  /** Asks for something without doing it, as a user with all rights. */
  async ask({ operation, resource, namespace, userInfo, object, oldObject }: AdmissionRequest): Promise<Answer> {
    const { name } = ((object ?? oldObject) as ApiObject).metadata
    const path = collection(resource, namespace)
    const [method, url] = (
      {
        CREATE: ['POST', path],
        UPDATE: ['PUT', `${path}/${name}`],
        DELETE: ['DELETE', `${path}/${name}`],
      } as const
    )[operation]
    const { username } = userInfo
    const { status, answer, warning } = await this.#server.call({
      method,
      path: `${url}?dryRun=All`,
      body: object,
      headers: username === '' ? {} : { 'impersonate-user': username, 'impersonate-group': 'system:masters' },
    })
    const { message } = answer
    return {
      status,
      body: answer as Json,
      warnings: warningsOf(warning),
      ...(status < 300 || message === undefined ? {} : { message }),
    }
  }

  /** The policies of the cluster, each with what its bindings ask for. */
  async policies(): Promise<readonly BoundPolicy[]> {
    const [policies, bindings] = await Promise.all([
      this.operator.api<{ items: readonly AdmissionPolicy[] }>('GET', `${policiesPath}ies`),
      this.operator.api<{
        items: readonly {
          readonly spec: { readonly policyName: string; readonly validationActions: readonly string[] }
        }[]
      }>('GET', `${policiesPath}ybindings`),
    ])
    return policies.items.map((policy) => ({
      policy,
      actions: bindings.items
        .filter(({ spec }) => spec.policyName === policy.metadata.name)
        .flatMap(({ spec }) => spec.validationActions),
    }))
  }
}

function collection({ group, version, resource }: AdmissionRequest['resource'], namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}/${namespace === undefined ? '' : `namespaces/${namespace}/`}${resource}`
}

/** Each is: 299 - "text", in UTF-8. */
function warningsOf(header: string | readonly string[] = []): readonly string[] {
  return [header].flat().flatMap((line) =>
    [
      ...Buffer.from(line, 'latin1')
        .toString('utf8')
        .matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g),
    ].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1')),
  )
}
