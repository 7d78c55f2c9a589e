/* Checks of the doctor: servers that receive reports, except the bucket. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/show_url.h"
#include "decoder/doctor/doctor.h"
#include "decoder/output/log_capture.h"
#include "upload/otlp/otlp.h"
#include "upload/push/push.h"
#include "upload/pyroscope/pyroscope.h"

/* The process may not reach the server, or only with its own rights. */
static bool check_may_connect(struct doctor_subject *p)
{
	if (p->is_isolated)
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Run doctor where the process runs, with its environment, as its user.",
			"not checked, as process %d is in other namespaces or under a "
			"seccomp filter",
			p->pid);
	return !p->is_isolated;
}

int doctor_network_open(struct doctor_network *network, struct doctor_subject *p)
{
	static const atomic_bool stop;
	sigset_t all;
	int err;

	*network = (struct doctor_network){ 0 };
	if (!check_may_connect(p))
		return -EPERM;
	network->environment.entries = p->environment;
	/* Threads of the HTTP client must not handle signals. */
	sigfillset(&all);
	sigdelset(&all, SIGINT);
	sigdelset(&all, SIGTERM);
	sigprocmask(SIG_BLOCK, &all, &network->before);
	log_capture_start();
	network->aws.now = aws_clock;
	network->aws.environment = &network->environment;
	network->aws.refuses_programs = p->pid;
	network->aws.stop = &stop;
	err = aws_open_http(&network->aws);
	if (err)
		doctor_network_close(network);
	return err;
}

void doctor_network_close(struct doctor_network *network)
{
	if (network->aws.http)
		network->aws.http->close(network->aws.http);
	aws_free(&network->aws);
	sigprocmask(SIG_SETMASK, &network->before, NULL);
}

/* A server, and remedies that name its variables. */
struct server {
	const struct push_form *form;
	struct push_settings settings;
	const char *remedy_url, *remedy_headers;
};

static void server_check_answer(struct doctor_subject *p, const struct server *server, long status)
{
	char shown[SHOW_URL_SIZE];

	show_url(shown, server->settings.url);
	switch (push_judge(status, server->form->is_500_final)) {
	case -EACCES:
		doctor_add_finding(p, SEVERITY_STOP, NULL,
				   status == 401 || status == 403 || status == 407
					   ? server->remedy_headers
					   : server->remedy_url,
				   "%s answers %ld", shown, status);
		break;
	case -EAGAIN:
		doctor_add_finding(p, SEVERITY_NOTE, NULL, "Wait, or check the server.",
				   "%s answers %ld now; deliveries are tried again", shown, status);
		break;
	default: /* any other answer to an empty message is valid */
		break;
	}
}

static void server_check(struct doctor_subject *p, const struct server *server)
{
	struct http_response response = HTTP_RESPONSE_INIT;
	struct doctor_network network;
	char shown[SHOW_URL_SIZE];
	int err;

	if (!server->settings.url || doctor_network_open(&network, p))
		return;
	err = push_probe(server->form, &server->settings, network.aws.http, &response);
	if (err == -EINVAL || err == -E2BIG)
		doctor_add_finding(p, SEVERITY_STOP, NULL, server->remedy_headers,
				   "the configured headers cannot be sent");
	else if (err)
		doctor_add_finding(p, SEVERITY_STOP, NULL,
				   "Check the name, the network and, with https, the certificates.",
				   "%s cannot be reached: %s",
				   show_url(shown, server->settings.url),
				   response.problem[0] ? response.problem : strerror(-err));
	else
		server_check_answer(p, server, response.status);
	http_response_free(&response);
	doctor_network_close(&network);
}

void doctor_pyroscope(struct doctor_subject *p)
{
	server_check(p, &(struct server){
				&pyroscope_form,
				{ p->config.pyroscope_url, p->config.pyroscope_headers },
				"Correct ASPROF_AGENT_PYROSCOPE_URL.",
				"Correct ASPROF_AGENT_PYROSCOPE_HEADERS.",
			});
}

void doctor_otlp(struct doctor_subject *p)
{
	server_check(p, &(struct server){
				&otlp_form,
				{ p->config.otlp_endpoint, p->config.otlp_headers },
				"Correct ASPROF_AGENT_OTLP_ENDPOINT.",
				"Correct ASPROF_AGENT_OTLP_HEADERS.",
			});
}
