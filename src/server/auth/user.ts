/** Who asks. */
export interface User {
  name: string;
  groups: readonly string[];
  uid?: string;
  extra?: Readonly<Record<string, readonly string[]>>;
}

export const anonymousUser: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
export const allAuthenticated = 'system:authenticated';
