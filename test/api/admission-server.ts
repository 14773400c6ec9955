import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import type { AdmissionPolicy, AdmissionRequest, BoundPolicy } from '../../api/rules/admission.ts'
import { startCluster } from '../../deploy/local/cluster.ts'
import { Installation } from '../../deploy/local/installation.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import { Operator } from '../../deploy/local/operator.ts'

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
  readonly operator: Operator
  readonly #cluster: LocalCluster
  readonly #installation: Installation
  readonly #agent: Agent

  private constructor(cluster: LocalCluster, installation: Installation, agent: Agent) {
    this.#cluster = cluster
    this.operator = new Operator(cluster)
    this.#installation = installation
    this.#agent = agent
  }

  static async start(): Promise<AdmissionServer> {
    const cluster = await startCluster({ stateDir: await mkdtemp(join(tmpdir(), 'joiner-admission-')) })
    const agent = new Agent({ connect: { ca: await readFile(cluster.pki.caFile, 'utf8') } })
    const installation = new Installation(cluster, new Operator(cluster))
    await installation.install()
    return new AdmissionServer(cluster, installation, agent)
  }

  async stop(): Promise<void> {
    this.#installation.stop()
    await this.operator.close()
    await this.#agent.close()
    await this.#cluster.stop()
    await rm(this.#cluster.stateDir, { recursive: true, force: true })
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
    const response = await request(`${this.#cluster.server}${url}?dryRun=All`, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${this.#cluster.adminToken}`,
        'content-type': 'application/json',
        ...(userInfo.username === ''
          ? {}
          : { 'impersonate-user': userInfo.username, 'impersonate-group': 'system:masters' }),
      },
      ...(object === undefined ? {} : { body: JSON.stringify(object) }),
    })
    const body = (await response.body.json()) as Json
    const { message } = body as { readonly message?: string }
    const status = response.statusCode
    return {
      status,
      body,
      warnings: warningsOf(response.headers['warning']),
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
