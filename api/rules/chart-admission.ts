import { chartPolicies, pluralOf } from '../chart-policies.ts'
import { type Admission, type AdmissionRequest, admissionOf } from './admission.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Returns what the chart's admission policies do when a person creates an object, given as the API server would store it. The policies that bind
 * Joiner's own accounts are not among them: their match conditions exclude everybody else.
 */
export function chartAdmission(object: Json): Admission {
  return admissionOf(creationOf(object), chartPolicies)
}

/** Returns a person's request to create an object. */
export function creationOf(object: Json): AdmissionRequest {
  const { apiVersion, kind, metadata } = object
  const [version = '', group = ''] = String(apiVersion).split('/').reverse()
  const { namespace } = (metadata ?? {}) as { readonly namespace?: string }
  return {
    operation: 'CREATE',
    resource: { group, version, resource: pluralOf(String(kind)) },
    userInfo: { username: '' },
    object,
    ...(namespace === undefined ? {} : { namespace }),
  }
}
