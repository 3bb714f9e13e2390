import java.util.Map;
import java.util.Objects;
import org.springframework.security.oauth2.client.endpoint.OAuth2ClientCredentialsGrantRequest;
import org.springframework.security.oauth2.client.endpoint.OAuth2RefreshTokenGrantRequest;
import org.springframework.security.oauth2.client.endpoint.RestClientClientCredentialsTokenResponseClient;
import org.springframework.security.oauth2.client.endpoint.RestClientRefreshTokenTokenResponseClient;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.core.OAuth2AuthorizationException;
import org.springframework.security.oauth2.core.endpoint.OAuth2AccessTokenResponse;
import org.springframework.web.client.RestClientResponseException;
import tools.jackson.databind.json.JsonMapper;

/** Gets a token by client credentials, renews it, and tries a wrong secret. */
class Main {
    static final JsonMapper JSON = new JsonMapper();

    public static void main(String[] args) {
        System.out.println(JSON.writeValueAsString(Map.of(
                "library", "spring-security-oauth2-client",
                "version", ClientRegistration.class.getPackage().getImplementationVersion(),
                "header", attempt(ClientAuthenticationMethod.CLIENT_SECRET_BASIC),
                "form", attempt(ClientAuthenticationMethod.CLIENT_SECRET_POST))));
    }

    static Map<String, String> attempt(ClientAuthenticationMethod style) {
        var client = client(style, System.getenv("CLIENT_SECRET"));
        var first = token(client);
        var refresh = Objects.requireNonNull(first.getRefreshToken());
        var renewed = new RestClientRefreshTokenTokenResponseClient().getTokenResponse(
                new OAuth2RefreshTokenGrantRequest(client, first.getAccessToken(), refresh));
        var error = wrong(style);
        return Map.of(
                "first", first.getAccessToken().getTokenValue(),
                "refresh", refresh.getTokenValue(),
                "renewed", renewed.getAccessToken().getTokenValue(),
                "errorType", type(error),
                "errorCode", code(error));
    }

    static OAuth2AccessTokenResponse token(ClientRegistration client) {
        return new RestClientClientCredentialsTokenResponseClient().getTokenResponse(
                new OAuth2ClientCredentialsGrantRequest(client));
    }

    static OAuth2AuthorizationException wrong(ClientAuthenticationMethod style) {
        try {
            token(client(style, "wrong"));
        } catch (OAuth2AuthorizationException e) {
            return e;
        }
        throw new IllegalStateException("a wrong secret got a token");
    }

    /** With Spring's own code and the cause, where there is one. */
    static String type(OAuth2AuthorizationException e) {
        var type = e.getClass().getSimpleName() + " " + e.getError().getErrorCode();
        return e.getCause() == null ? type : type + " caused by " + e.getCause().getClass().getSimpleName();
    }

    /** Spring reads the error of a 400 only: that of a 401 is in the cause. */
    static String code(OAuth2AuthorizationException e) {
        if (e.getCause() instanceof RestClientResponseException answer) {
            return JSON.readTree(answer.getResponseBodyAsString()).path("error").asString();
        }
        return e.getError().getErrorCode();
    }

    static ClientRegistration client(ClientAuthenticationMethod style, String secret) {
        return ClientRegistration.withRegistrationId("campaigns")
                .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
                .clientAuthenticationMethod(style)
                .clientId(System.getenv("CLIENT_ID"))
                .clientSecret(secret)
                .scope("campaigns:dispatch")
                .tokenUri(System.getenv("BASE_URL") + "/api/v1/oauth/token")
                .build();
    }
}
