#!/bin/bash
# Uploads with credentials that expire, from a real security token service, a Ceph gateway's: session tokens, and
# roles by keys or by an identity provider. The gateway checks a provider's tokens with the keys that the provider
# publishes.
# Takes long.
. "$(dirname "$0")/upload.inc"
have curl
# shellcheck disable=SC2034 # used by ceph.inc
sts=true
. "$here/ceph.inc"
. "$here/stores.inc"
. "$here/oidc.inc"

# policy STATEMENT: a document with only that. (The gateway rejects spaces.)
policy() {
	printf '{"Version":"2012-10-17","Statement":[{"Effect":"Allow",%s}]}' "$1"
}

# role NAME ACTION PRINCIPAL: a role with all rights in S3, that PRINCIPAL may assume.
role() {
	s3 call "$url" Action=CreateRole RoleName="$1" AssumeRolePolicyDocument="$(
		policy "\"Action\":[\"sts:$2\"],\"Principal\":$3")" >/dev/null &&
		s3 call "$url" Action=PutRolePolicy RoleName="$1" PolicyName=all PolicyDocument="$(
			policy '"Action":["s3:*"],"Resource":"arn:aws:s3:::*"')" >/dev/null ||
		fail "no role $1"
}

# session NAME=VALUE…: settings with the credentials of a call of STS.
session() {
	local answer

	answer=$(s3 call "$url" "$@") || fail "no session"
	settings=()
	for pair in AWS_ACCESS_KEY_ID=AccessKeyId AWS_SECRET_ACCESS_KEY=SecretAccessKey \
		AWS_SESSION_TOKEN=SessionToken; do
		settings+=("${pair%=*}=$(sed "s/.*<${pair#*=}>//; s/<.*//" <<<"$answer")")
	done
}

certificate good
store good
issuer_start
none=(AWS_ACCESS_KEY_ID= AWS_SECRET_ACCESS_KEY= AWS_ENDPOINT_URL_STS="$tls_url")

# --- session tokens in the environment ---
s3 call "$url" Action=PutUserPolicy UserName=tester PolicyName=session PolicyDocument="$(
	policy '"Action":["sts:GetSessionToken"],"Resource":"*"')" >/dev/null || fail "no policy"
session Action=GetSessionToken
all_arrive 'session token' "${settings[@]}"
goes_wrong 'no session token' ' 403 ' "${settings[@]}" AWS_SESSION_TOKEN=

# --- a role by keys ---
role keys AssumeRole '{"AWS":["arn:aws:iam:::user/tester"]}'
cat >"$work/config" <<END
[profile keys]
role_arn = arn:aws:iam:::role/keys
source_profile = user
[profile nowhere]
role_arn = arn:aws:iam:::role/nowhere
source_profile = user
[profile user]
aws_access_key_id = $access
aws_secret_access_key = $secret
END
in_files=("${none[@]}" AWS_CONFIG_FILE="$work/config")
all_arrive 'role' "${in_files[@]}" AWS_PROFILE=keys
goes_wrong 'unknown role' 'STS refuses the role' "${in_files[@]}" AWS_PROFILE=nowhere
session Action=AssumeRole RoleArn=arn:aws:iam:::role/keys RoleSessionName=short DurationSeconds=1
sleep 2
goes_wrong 'expired session' ' 403 ' "${settings[@]}"

# --- a role by an identity provider ---
s3 call "$url" Action=CreateOpenIDConnectProvider Url="http://$issuer" \
	ThumbprintList.member.1="$thumbprint" ClientIDList.member.1=reports >/dev/null ||
	fail "no identity provider"
role web AssumeRoleWithWebIdentity '{"Federated":["arn:aws:iam:::oidc-provider/'"$issuer"'"]}'
web=("${none[@]}" AWS_WEB_IDENTITY_TOKEN_FILE="$work/token" AWS_ROLE_ARN=arn:aws:iam:::role/web)
identity reports 600 "$work/issuer.key" >"$work/token"
# Its objects belong to the role; the bucket's owner cannot read them.
session Action=AssumeRoleWithWebIdentity RoleArn=arn:aws:iam:::role/web RoleSessionName=reader \
	WebIdentityToken="$(cat "$work/token")"
# shellcheck disable=SC2034 # used by upload.inc
as=("${settings[@]}")
all_arrive 'web identity' "${web[@]}" AWS_ROLE_SESSION_NAME=reports

refused() {
	goes_wrong "$1" 'STS refuses the role' "${web[@]}"
}
identity others 600 "$work/issuer.key" >"$work/token"
refused 'identity for somebody else'
identity reports -600 "$work/issuer.key" >"$work/token"
refused 'expired identity'
openssl genrsa -out "$work/other.key" 2048 2>/dev/null
identity reports 600 "$work/other.key" >"$work/token"
refused 'forged identity'

# --- credentials valid for five minutes and two seconds: renewed in two seconds ---
cat >"$work/config" <<END
[default]
role_arn = arn:aws:iam:::role/web
web_identity_token_file = $work/token
duration_seconds = 302
END
arrived() {
	list | grep -q .
}
refusal() {
	grep -q 'STS refuses the role' "$work/log"
}
empty
rm -rf "$work/local" "$work/log"
identity reports 600 "$work/issuer.key" >"$work/token"
profiled 8.5 "${none[@]}" AWS_CONFIG_FILE="$work/config" ASPROF_AGENT_LOCAL_DIR="$work/local" &
job=$!
until_true arrived || fail "nothing arrived"
asked=$(grep -c 'GET /keys' "$work/issuer.log")
more() {
	[ "$(grep -c 'GET /keys' "$work/issuer.log")" -gt "$asked" ]
}
until_true more || fail "the credentials were not renewed"
: >"$work/token"
until_true refusal || fail "the token was not read again"
wait $job || fail "renewal: the program failed"
count=$(list | wc -l)
[ "$count" -eq "$(find "$work/local" -type f | wc -l)" ] || fail "renewal: $count arrived"
echo "renewed early, and used on while that failed: $count of $count reports arrived"
