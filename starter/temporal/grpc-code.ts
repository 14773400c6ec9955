/** Codes of gRPC that are told apart here (https://grpc.io/docs/guides/status-codes/). */
export const grpcCodes = {
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unauthenticated: 16,
} as const

/** The gRPC code of an error, or of what caused it. Undefined: it is not one of gRPC. */
export function grpcCode(error: unknown): number | undefined {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    const { code } = each as { readonly code?: unknown }
    if (typeof code === 'number') return code
  }
  return undefined
}

/** Whether the server knows the caller and does not allow this, or does not know it. */
export function isDenied(error: unknown): boolean {
  const code = grpcCode(error)
  return code === grpcCodes.permissionDenied || code === grpcCodes.unauthenticated
}
